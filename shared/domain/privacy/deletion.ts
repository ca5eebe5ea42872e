import type { Transaction } from 'objection';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { logger } from '../../lib/logger.ts';
import { DAY_MS } from '../../spec/durations.ts';
import { ServiceError } from '../../spec/errors.ts';
import { Account } from '../../tables/Account.ts';
import { AccountDeletion } from '../../tables/AccountDeletion.ts';
import type { Caller } from '../accounts/caller.ts';
import { withAccountOfCaller } from '../accounts/lockedCredentials.ts';
import { findRenewingSubscription } from '../billing/stopRenewals.ts';
import { recordSubscriptionChange } from '../billing/recordSubscriptionChange.ts';
import { revokeAccess } from '../signIn/revokeAccess.ts';
import { recordSecurityEvent, type RequestOrigin } from '../accounts/securityEvents.ts';
import { patchTestAccount } from '../accounts/testAccounts.ts';
import { rescheduleTasks } from '../tasks/scheduleTasks.ts';

/** Kind of the tasks that carry out the steps of a deletion. */
export const DELETE_ACCOUNT_KIND = 'account.delete';

/** Days during which the owner can undo a deletion. */
export const DELETION_UNDO_DAYS = 7;

/** A deletion as the owner sees it. */
export interface RequestedDeletion {
  requestedAt: Date;
  eraseAt: Date;
  /** False once the erasure has begun. */
  canUndo: boolean;
}

/** Returns whether the deletion of an account was requested and not undone. */
export async function isDeletionRequested(accountId: number): Promise<boolean> {
  const account = await Account.query().findById(accountId).select('deletion_requested_at');
  return account !== undefined && account.deletion_requested_at !== null;
}

/** Finds the requested deletion of an account; null if there is none, or it was undone. */
export async function findRequestedDeletion(accountId: number): Promise<RequestedDeletion | null> {
  const deletion = await AccountDeletion.query().findById(accountId).whereNot({ status: 'undone' });
  if (deletion === undefined) return null;
  const { requested_at: requestedAt, erase_at: eraseAt, status } = deletion;
  return { requestedAt, eraseAt, canUndo: status === 'pending' };
}

/** A request after an undo replaces the row whose subscription was not resumed yet. */
const SCHEDULE_DELETION = prepared(
  'schedule_account_deletion',
  `INSERT INTO account_deletions AS d (account_id, status, requested_at, erase_at, subscription_id)
   VALUES (:accountId, 'pending', :now, :eraseAt, :subscriptionId)
   ON CONFLICT (account_id) DO UPDATE
     SET status = excluded.status, requested_at = excluded.requested_at, erase_at = excluded.erase_at,
         subscription_id = coalesce(d.subscription_id, excluded.subscription_id)`,
);

/**
 * Requests the deletion of an account, in one transaction: all credentials end except the caller's session, nothing can
 * be created or bought, automatic top-ups are off, and a task carries out the rest. Requesting it again
 * changes nothing.
 * @param email address that the owner has typed as a confirmation.
 * @throws ServiceError validation_error if the address is not that of the account; insufficient_scope or
 *   invalid_api_key if the caller's role or session changed meanwhile.
 */
export async function requestAccountDeletion(caller: Caller, email: string, origin: RequestOrigin): Promise<void> {
  const { accountId, credential } = caller;
  await withAccountOfCaller(caller, async (transaction, account) => {
    if (account.deletion_requested_at !== null) return;
    if (email.trim().toLowerCase() !== account.email) {
      throw new ServiceError('validation_error', `email: type ${account.email} to confirm the deletion.`, {
        field: 'email',
      });
    }
    const at = now();
    const { sessions, keys, grants } = await revokeAccess(transaction, accountId, {
      keptSession: credential.kind === 'session' ? credential.hash : null,
    });
    const renewing = await findRenewingSubscription(accountId, transaction);
    await recordSubscriptionChange(transaction, account, () =>
      account.$query(transaction).patch({ deletion_requested_at: at, auto_topup_enabled: false }),
    );
    await patchTestAccount(transaction, accountId, { deletion_requested_at: at });
    const eraseAt = addMilliseconds(at, DELETION_UNDO_DAYS * DAY_MS);
    const subscriptionId = renewing?.id ?? null;
    await runStatement(SCHEDULE_DELETION, { accountId, now: at, eraseAt, subscriptionId }, transaction);
    await scheduleStep(transaction, accountId);
    const details = { sessions, keys, grants };
    await recordSecurityEvent(transaction, { accountId, event: 'deletion_requested', origin, details });
  });
  logger.info({ accountId }, 'account deletion requested');
}

/**
 * Undoes a deletion: the account can be used again, and a task resumes the renewal of its subscription. Credentials
 * stay revoked and automatic top-ups off. Without a requested deletion it changes nothing.
 * @throws ServiceError validation_error once the erasure has begun; insufficient_scope or invalid_api_key if the
 *   caller's role or session changed meanwhile.
 */
export async function undoAccountDeletion(caller: Caller, origin: RequestOrigin): Promise<void> {
  const { accountId } = caller;
  await withAccountOfCaller(caller, async (transaction, account) => {
    if (account.deletion_requested_at === null) return;
    const deletion = await AccountDeletion.query(transaction).findById(accountId);
    if (deletion?.status !== 'pending') {
      throw new ServiceError('validation_error', 'The account is being erased and can no longer be restored.');
    }
    await recordSubscriptionChange(transaction, account, () =>
      account.$query(transaction).patch({ deletion_requested_at: null }),
    );
    await patchTestAccount(transaction, accountId, { deletion_requested_at: null });
    await deletion.$query(transaction).patch({ status: 'undone' });
    await scheduleStep(transaction, accountId);
    await recordSecurityEvent(transaction, { accountId, event: 'deletion_undone', origin });
  });
  logger.info({ accountId }, 'account deletion undone');
}

/** Gives the owner of a locked account the whole time to undo a deletion, which a suspension has prevented. */
export async function postponeErasure(transaction: Transaction, accountId: number): Promise<void> {
  const eraseAt = addMilliseconds(now(), DELETION_UNDO_DAYS * DAY_MS);
  const postponed = await AccountDeletion.query(transaction)
    .findById(accountId)
    .where({ status: 'pending' })
    .where('erase_at', '<', eraseAt)
    .patch({ erase_at: eraseAt });
  if (postponed > 0) await scheduleStep(transaction, accountId);
}

/** Schedules the next step at once, in the place of the one that was due. */
const scheduleStep = (transaction: Transaction, accountId: number): Promise<void> =>
  rescheduleTasks(transaction, DELETE_ACCOUNT_KIND, [{ key: String(accountId), accountId }]);
