import { isDeepStrictEqual } from 'node:util';
import type { Transaction } from 'objection';
import { repeatOnDeadlock } from '../../lib/database/repeatOnDeadlock.ts';
import { ServiceError } from '../../spec/errors.ts';
import { Account } from '../../tables/Account.ts';
import { Member } from '../../tables/Member.ts';
import { OAuthGrant } from '../../tables/OAuthGrant.ts';
import { Session } from '../../tables/Session.ts';
import { lockAccount, transactOnAccount } from '../credits/ledger.ts';
import type { Caller } from './caller.ts';
import {
  accountSuspendedError,
  invalidCredentialError,
  readKeyRights,
  SESSION_ENDED_MEANWHILE_DETAIL,
} from './credentials.ts';

/**
 * Credentials that are changed or revoked while a request waits for their account. What changes or revokes them locks the
 * account, except a browser that signs itself out; a request verifies its credential again once it has the lock.
 */

/**
 * Verifies that the key of a caller is valid and has the rights with which the request was admitted, or that its session is
 * open and acts on the account or its grant is not revoked, and that its member has the same role. Keeps these so until the
 * transaction ends. The transaction has locked the account.
 * @throws ServiceError insufficient_scope for a key that was changed, or a role; invalid_api_key for a key that was revoked
 *   or has expired, for a session that has ended or acts on another account by now, or for a revoked grant.
 */
export async function assertCredentialUnchanged(transaction: Transaction, caller: Caller): Promise<void> {
  const { credential } = caller;
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
  if (caller.credential.kind === 'service') return change();
  return repeatOnDeadlock(name, () =>
    transactOnAccount(caller.accountId, async (transaction) => {
      const { suspended_at: suspendedAt } = await lockAccount(transaction, caller.accountId);
      if (suspendedAt !== null) throw accountSuspendedError();
      await assertCredentialUnchanged(transaction, caller);
      return change(transaction);
    }),
  );
}
