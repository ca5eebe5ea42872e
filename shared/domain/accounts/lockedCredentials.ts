import { isDeepStrictEqual } from 'node:util';
import type { Transaction } from 'objection';
import { repeatOnDeadlock } from '../../lib/database/repeatOnDeadlock.ts';
import { ServiceError } from '../../spec/errors.ts';
import { Account } from '../../tables/Account.ts';
import { Member } from '../../tables/Member.ts';
import { OAuthGrant } from '../../tables/OAuthGrant.ts';
import { Session } from '../../tables/Session.ts';
import { withAccountLock } from '../credits/ledger.ts';
import type { Caller } from './caller.ts';
import {
  accountSuspendedError,
  invalidCredentialError,
  readKeyRights,
  SESSION_ENDED_MEANWHILE_DETAIL,
} from './credentials.ts';

/**
 * Credentials that are changed or revoked while a request waits for their account. What changes or revokes them locks
 * the account, except a browser that signs itself out; a request verifies its credential again once it has the lock.
 */

/**
 * Runs a transaction with the account of a caller locked, and its credential verified: its key is valid and has the
 * rights with which the request was admitted, or its session is open and acts on the account, or its grant is not
 * revoked, and its member has the same role. These stay so until the transaction ends.
 * @throws ServiceError account_suspended; insufficient_scope for a key that was changed, or a role; invalid_api_key for
 *   a key that was revoked or has expired, for a session that has ended or acts on another account by now, or for a
 *   revoked grant.
 */
export function withAccountOfCaller<Result>(
  caller: Caller,
  work: (transaction: Transaction, account: Account) => Promise<Result>,
): Promise<Result> {
  return withAccountLock(caller.accountId, async (transaction, account) => {
    await assertCredentialUnchanged(transaction, caller, account);
    return work(transaction, account);
  });
}

/** Verifies the credential of a caller whose account is locked. @throws ServiceError as {@link withAccountOfCaller} */
export async function assertCredentialUnchanged(
  transaction: Transaction,
  caller: Caller,
  { suspended_at: suspendedAt }: Account,
): Promise<void> {
  const { credential } = caller;
  if (credential.kind !== 'service' && suspendedAt !== null) throw accountSuspendedError();
  switch (credential.kind) {
    case 'service':
      return;
    case 'session': {
      const session = await Session.query(transaction).findById(credential.hash).select('account_id').forShare();
      if (session?.account_id !== caller.accountId)
        throw new ServiceError('invalid_api_key', SESSION_ENDED_MEANWHILE_DETAIL);
      return assertSameRole(transaction, caller);
    }
    case 'token': {
      // A revocation does not lock the account: it commits before this, or after the transaction.
      const grant = await OAuthGrant.query(transaction).findById(credential.grantUuid).select('revoked_at').forShare();
      if (grant?.revoked_at !== null) throw invalidCredentialError(caller);
      return assertSameRole(transaction, caller);
    }
    case 'key': {
      const present = await readKeyRights(transaction, credential.hash);
      if (present === null) throw keyChangedError('invalid_api_key', 'was revoked or has expired');
      assertSameRights(present, caller);
    }
  }
}

/** @throws ServiceError insufficient_scope if a key does not have the rights with which its request was admitted. */
export function assertSameRights(
  present: Pick<Caller, 'restrictions' | 'member'>,
  { restrictions, member }: Pick<Caller, 'restrictions' | 'member'>,
): void {
  if (present.member?.role !== member?.role) throw roleChangedError();
  if (!isDeepStrictEqual(present.restrictions, restrictions))
    throw keyChangedError('insufficient_scope', 'was changed');
}

async function assertSameRole(transaction: Transaction, { accountId, member }: Caller): Promise<void> {
  const number = member?.number ?? 0;
  const present = await Member.query(transaction).findById([accountId, number]).select('role');
  if (present?.role !== member?.role) throw roleChangedError();
}

/** Builds the error for a request whose member got another role before the account was locked. */
export function roleChangedError(): ServiceError {
  const detail = 'The role of the member was changed while the request ran. Nothing was created or changed: repeat it.';
  return new ServiceError('insufficient_scope', detail);
}

/** Builds the error for a request whose key was changed before the account was locked. */
export function keyChangedError(code: 'invalid_api_key' | 'insufficient_scope', change: string): ServiceError {
  return new ServiceError(code, `The API key of this request ${change} while it ran. Nothing was created or changed.`);
}

/**
 * Runs a change as {@link withAccountOfCaller}, and again after a deadlock, which ends the transaction without a
 * change. Without a credential, the change runs by itself.
 * @param name of the change, for the log.
 * @param change takes the transaction, if there is one, and locks the account before anything else.
 */
export async function withVerifiedCredential<Result>(
  name: string,
  caller: Caller,
  change: (transaction?: Transaction) => Promise<Result>,
): Promise<Result> {
  if (caller.credential.kind === 'service') return change();
  return repeatOnDeadlock(name, () => withAccountOfCaller(caller, change));
}
