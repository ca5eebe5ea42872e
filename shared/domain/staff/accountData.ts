import type { ErasureResult } from '../privacy/erase.ts';
import { eraseAccount } from '../privacy/erase.ts';
import { exportAccount } from '../privacy/export.ts';
import { removeIdentity } from '../signIn/identities.ts';
import { AuditEntry } from '../../tables/AuditEntry.ts';
import type { Account } from '../../tables/Account.ts';
import type { Identity } from '../../tables/Identity.ts';
import { type Actor, recordAuditEntry } from '../audit/recordAuditEntry.ts';

/** Records that staff export the data of an account, and returns it once the record is committed. */
export async function exportAccountByStaff(
  account: Account,
  reason: string,
  actor: Actor,
): Promise<AsyncGenerator<string>> {
  await AuditEntry.transaction((transaction) =>
    recordAuditEntry(transaction, actor, {
      action: 'account.export',
      accountId: account.id,
      targetId: account.uuid,
      reason,
    }),
  );
  return exportAccount(account);
}

/**
 * Erases the personal data of an account, with an audit entry.
 * @throws ServiceError validation_error while a subscription would renew, or generations are in progress.
 */
export async function eraseAccountByStaff(accountId: number, reason: string, actor: Actor): Promise<ErasureResult> {
  return eraseAccount(accountId, (transaction, { uuid }) =>
    recordAuditEntry(transaction, actor, {
      action: 'account.erase',
      accountId,
      targetId: uuid,
      reason,
      before: { erased: false },
      after: { erased: true },
    }),
  );
}

/** Removes a sign-in method from an account, including the last one, and ends its sessions. */
export async function removeIdentityByStaff(
  accountId: number,
  { uuid: identityUuid, provider }: Identity,
  reason: string,
  actor: Actor,
): Promise<void> {
  await removeIdentity(accountId, identityUuid, {
    currentToken: null,
    mayBeLast: true,
    onRemoved: (transaction, { uuid }) =>
      recordAuditEntry(transaction, actor, {
        action: 'identity.remove',
        accountId,
        targetId: uuid,
        reason,
        before: { provider },
        after: { provider: null },
      }),
  });
}
