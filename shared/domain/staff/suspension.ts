import { now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import { getStaffRole } from '../../lib/staffEmails.ts';
import { ServiceError } from '../../spec/errors.ts';
import { Account } from '../../tables/Account.ts';
import { postponeErasure } from '../privacy/deletion.ts';
import { patchTestAccount } from '../accounts/testAccounts.ts';
import { withAccountLock } from '../credits/ledger.ts';
import { endSessions } from '../signIn/revokeAccess.ts';
import { recordRevocation } from './accessActions.ts';
import { type Actor, recordAuditEntry } from '../audit/recordAuditEntry.ts';

/** Outcome of a suspension or reinstatement. */
export interface SuspensionResult {
  account: Account;
  /** False if the account was in that state already: nothing was changed or recorded. */
  isChanged: boolean;
}

/**
 * Suspends an account. From the commit on, no generation is accepted, its sessions have ended, and its API keys and
 * applications are rejected until it is reinstated. Generations in progress finish, automatic top-ups stop, and the
 * subscription continues at the payment processor.
 * @throws ServiceError validation_error for a staff account.
 */
export async function suspendAccount(accountId: number, actor: Actor): Promise<SuspensionResult> {
  const result = await withAccountLock(accountId, async (transaction, account) => {
    if (getStaffRole(account.email) !== undefined)
      throw new ServiceError(
        'validation_error',
        'A staff account cannot be suspended. Remove its address from STAFF_EMAILS first.',
      );
    if (account.suspended_at !== null) return { account, isChanged: false };
    const sessions = await endSessions(transaction, accountId);
    if (sessions > 0) await recordRevocation(transaction, accountId, { sessions, keys: 0, grants: 0 });
    const suspended = await account.$query(transaction).patchAndFetch({ suspended_at: now() });
    await patchTestAccount(transaction, accountId, { suspended_at: suspended.suspended_at });
    await recordAuditEntry(transaction, actor, {
      action: 'account.suspend',
      accountId,
      targetId: account.uuid,
      before: { suspended: false, sessions },
      after: { suspended: true, sessions: 0, generation_count: account.generation_count },
    });
    return { account: suspended, isChanged: true };
  });
  if (result.isChanged) logger.info({ accountId }, 'account suspended');
  return result;
}

/** Reinstates a suspended account: its API keys and applications work again, and its owner can sign in. */
export async function reinstateAccount(accountId: number, actor: Actor): Promise<SuspensionResult> {
  const result = await withAccountLock(accountId, async (transaction, account) => {
    if (account.suspended_at === null) return { account, isChanged: false };
    // A sign-in that overlapped the suspension may have left one.
    await endSessions(transaction, accountId);
    await postponeErasure(transaction, accountId);
    const reinstated = await account.$query(transaction).patchAndFetch({ suspended_at: null });
    await patchTestAccount(transaction, accountId, { suspended_at: null });
    await recordAuditEntry(transaction, actor, {
      action: 'account.reinstate',
      accountId,
      targetId: account.uuid,
      before: { suspended: true, generation_count: account.generation_count },
      after: { suspended: false },
    });
    return { account: reinstated, isChanged: true };
  });
  if (result.isChanged) logger.info({ accountId }, 'account reinstated');
  return result;
}
