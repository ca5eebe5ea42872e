import type { Transaction } from 'objection';
import { now } from '../../lib/clock.ts';
import { repeatOnDeadlock } from '../../lib/database/repeatOnDeadlock.ts';
import { ServiceError } from '../../spec/errors.ts';
import { Account } from '../../tables/Account.ts';
import { ApiKey } from '../../tables/ApiKey.ts';
import { Session } from '../../tables/Session.ts';
import { lockAccount } from '../credits/ledger.ts';
import { OAuthGrant } from '../../tables/OAuthGrant.ts';
import {
  accountSuspendedError,
  type Caller,
  invalidCredentialError,
  SESSION_ENDED_MEANWHILE_DETAIL,
} from './accounts.ts';

/**
 * Credentials that are changed or revoked while a request waits for their account. What changes or revokes them locks the
 * account, except a browser that signs itself out; a request verifies its credential again once it has the lock.
 */

/**
 * Verifies that the key of a caller is valid and has not been changed since the request was admitted, or that its session is
 * open or its grant not revoked, and keeps these so until the transaction ends. The transaction has locked the account.
 * @throws ServiceError insufficient_scope for a key that was changed; invalid_api_key for one that was revoked or has
 *   expired, for a session that has ended, or for a revoked grant.
 */
export async function assertCredentialUnchanged(transaction: Transaction, caller: Caller): Promise<void> {
  if (caller.sessionHash !== undefined) {
    const session = await Session.query(transaction).findById(caller.sessionHash).select('uuid').forKeyShare();
    if (session !== undefined) return;
    throw new ServiceError('invalid_api_key', SESSION_ENDED_MEANWHILE_DETAIL);
  }
  if (caller.grantUuid !== undefined) {
    // A revocation does not lock the account: it commits before this, or after the transaction.
    const grant = await OAuthGrant.query(transaction).findById(caller.grantUuid).select('revoked_at').forShare();
    if (grant?.revoked_at !== null) throw invalidCredentialError(caller);
  }
  if (caller.keyHash === null) return;
  const key = await ApiKey.query(transaction)
    .findById(caller.keyHash)
    .whereNull('revoked_at')
    .where((valid) => void valid.whereNull('expires_at').orWhere('expires_at', '>', now()))
    .select('version');
  if (key?.version === (caller.keyVersion ?? 0)) return;
  const [code, change] =
    key === undefined
      ? (['invalid_api_key', 'was revoked or has expired'] as const)
      : (['insufficient_scope', 'was changed'] as const);
  throw new ServiceError(code, `The API key of this request ${change} while it ran. Nothing was created or changed.`);
}

/**
 * Locks the account of a caller and verifies that its key or session is still valid.
 * @throws ServiceError as {@link assertCredentialUnchanged}
 */
export async function lockAccountOfCaller(transaction: Transaction, caller: Caller): Promise<Account> {
  const account = await lockAccount(transaction, caller.accountId);
  await assertCredentialUnchanged(transaction, caller);
  return account;
}

/**
 * Runs a change with the account of its caller locked and its credential verified. Without a credential, the change runs by
 * itself. After a deadlock, which ends the transaction without a change, it runs again.
 * @param name of the change, for the log.
 * @param change takes the transaction, if there is one, and locks the account before anything else.
 * @throws ServiceError account_suspended, and those of {@link assertCredentialUnchanged}
 */
export async function withVerifiedCredential<Result>(
  name: string,
  caller: Caller,
  change: (transaction?: Transaction) => Promise<Result>,
): Promise<Result> {
  if (caller.keyHash === null && caller.sessionHash === undefined && caller.grantUuid === undefined) return change();
  return repeatOnDeadlock(name, () =>
    Account.transaction(async (transaction) => {
      const { suspended_at: suspendedAt } = await lockAccount(transaction, caller.accountId);
      if (suspendedAt !== null) throw accountSuspendedError();
      await assertCredentialUnchanged(transaction, caller);
      return change(transaction);
    }),
  );
}
