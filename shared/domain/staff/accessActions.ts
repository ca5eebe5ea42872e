import type { Transaction } from 'objection';
import { logger } from '../../lib/logger.ts';
import { ServiceError } from '../../spec/errors.ts';
import { Account } from '../../tables/Account.ts';
import { ApiKey } from '../../tables/ApiKey.ts';
import { endSessions, type RevokedAccess, type RevokedAllAccess, revokeAllAccess } from '../signIn/revokeAccess.ts';
import { recordSecurityEvent, SERVICE_ORIGIN } from '../accounts/securityEvents.ts';
import { lockAccount } from '../credits/ledger.ts';
import { type Actor, recordAuditEntry } from '../audit/recordAuditEntry.ts';

/**
 * Ends all sessions of an account. API keys and applications keep their access.
 * @returns the number of sessions that were ended. Without any, nothing is recorded.
 */
export async function signOutAccount(accountId: number, actor: Actor): Promise<number> {
  return Account.transaction(async (transaction) => {
    const account = await lockAccount(transaction, accountId);
    const sessions = await endSessions(transaction, accountId);
    if (sessions === 0) return 0;
    await recordRevocation(transaction, accountId, { sessions, keys: 0, grants: 0 });
    await recordAuditEntry(transaction, actor, {
      action: 'account.sign_out',
      accountId,
      targetId: account.uuid,
      before: { sessions },
      after: { sessions: 0 },
    });
    return sessions;
  });
}

/**
 * Ends all sessions, API keys and OAuth grants of an account, disables its webhook endpoints and revokes its open invitations.
 * The owner and members can sign in again.
 * @returns the number of each that were ended. Without any, nothing is recorded.
 */
export async function revokeAccountAccess(accountId: number, actor: Actor): Promise<RevokedAllAccess> {
  const revoked = await Account.transaction(async (transaction) => {
    const account = await lockAccount(transaction, accountId);
    const before = await revokeAllAccess(transaction, accountId, SERVICE_ORIGIN);
    if (!isAnyRevoked(before)) return before;
    await recordRevocation(transaction, accountId, before);
    await recordAuditEntry(transaction, actor, {
      action: 'account.revoke_access',
      accountId,
      targetId: account.uuid,
      before: { ...before },
      after: { sessions: 0, keys: 0, grants: 0, webhooks: 0, invitations: 0 },
    });
    return before;
  });
  logger.info({ accountId, ...revoked }, 'access revoked by staff');
  return revoked;
}

/** Shows the owner in the security log what staff ended. */
export async function recordRevocation(
  transaction: Transaction,
  accountId: number,
  revoked: RevokedAccess | RevokedAllAccess,
): Promise<void> {
  const details = { ...revoked };
  await recordSecurityEvent(transaction, { accountId, event: 'access_revoked', origin: SERVICE_ORIGIN, details });
}

/** Returns whether anything was ended. */
export function isAnyRevoked({ sessions, keys, grants, webhooks, invitations }: RevokedAllAccess): boolean {
  return sessions + keys + grants + webhooks + invitations > 0;
}

/** Finds an API key of any account by its uuid. @throws ServiceError not_found */
export async function findApiKeyForStaff(uuid: string): Promise<ApiKey> {
  const key = await ApiKey.query().findOne({ uuid });
  if (key !== undefined) return key;
  throw new ServiceError('not_found', 'Not found. There is no API key with that UUID.');
}
