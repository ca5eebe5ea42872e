import type { Transaction } from 'objection';
import { now } from '../../lib/clock.ts';
import { config } from '../../lib/config.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { ServiceError } from '../../spec/errors.ts';
import type { MemberRole } from '../../spec/roles.ts';
import { Account } from '../../tables/Account.ts';
import type { Member } from '../../tables/Member.ts';
import { Person } from '../../tables/Person.ts';
import { Session } from '../../tables/Session.ts';
import type { Caller } from '../accounts/caller.ts';
import { accountSuspendedError, invalidCredentialError } from '../accounts/credentials.ts';
import { findPersonOfCaller, lockPerson } from '../accounts/people.ts';
import { recordSecurityEvent, type RequestOrigin } from '../accounts/securityEvents.ts';

/** An account that a person may switch to. */
export interface JoinedAccount {
  uuid: string;
  /** Address of the owner. */
  email: string;
  role: MemberRole;
  is_current: boolean;
  plan_slug: string | null;
  balance: number;
  created_at: Date;
}

const LIST_JOINED_ACCOUNTS = prepared(
  'list_joined_accounts',
  `SELECT a.uuid, a.email, m.role, a.id = :accountId AS is_current,
          a.plan_slug, a.balance, a.created_at
     FROM members own
     JOIN members m ON m.person_id = own.person_id AND m.removed_at IS NULL
     JOIN accounts a ON a.id = m.account_id
    WHERE own.account_id = :accountId AND own.number = :number
    ORDER BY m.role <> 'owner', m.created_at, a.id`,
);

/** Lists the accounts of the person behind a session, own ones first. */
export async function listJoinedAccounts({ accountId, member }: Caller): Promise<JoinedAccount[]> {
  return runStatement<JoinedAccount>(LIST_JOINED_ACCOUNTS, { accountId, number: member?.number ?? 0 });
}

/**
 * Lets the session of a caller act on another account of its person, as its later sign-ins do. Requests of the session
 * that wait for the former account are rejected.
 * @throws ServiceError not_found unless the person is a member; account_suspended; as {@link enterAccount}.
 */
export async function switchAccount(caller: Caller, accountUuid: string, origin: RequestOrigin): Promise<void> {
  await Account.transaction(async (transaction) => {
    const person = await findPersonOfCaller(caller, transaction);
    if (person === undefined) throw invalidCredentialError(caller);
    const { members, accounts } = await lockPerson(transaction, person.id);
    const account = accounts.find(({ uuid }) => uuid === accountUuid);
    const member = members.find(({ account_id: id }) => id === account?.id);
    if (account === undefined || member === undefined)
      throw new ServiceError('not_found', 'Not found. You are not a member of an account with that UUID.');
    if (account.suspended_at !== null) throw accountSuspendedError();
    await enterAccount(transaction, caller, member, origin);
  });
}

/**
 * Lets the session of a caller act as another of its person's members. The account and the person are locked.
 * @throws ServiceError invalid_api_key if the session ended; insufficient_scope if it is older than the end of all
 *   sessions of the account.
 */
export async function enterAccount(
  transaction: Transaction,
  caller: Caller,
  { account_id: accountId, number: memberNumber, person_id: personId }: Member,
  origin: RequestOrigin,
): Promise<void> {
  const { credential } = caller;
  if (credential.kind !== 'session') throw invalidCredentialError(caller);
  const session = await Session.query(transaction).findById(credential.hash).forNoKeyUpdate();
  if (session === undefined) throw invalidCredentialError(caller);
  if (session.account_id !== accountId) await assertNotSignedOut(transaction, session, accountId);
  await session.$query(transaction).patch({ account_id: accountId, member_number: memberNumber, last_used_at: now() });
  await Person.query(transaction).findById(personId).patch({ current_account_id: accountId });
  if (accountId === caller.accountId) return;
  await recordSecurityEvent(transaction, { accountId, event: 'account_entered', origin: { ...origin, memberNumber } });
}

/** @throws ServiceError insufficient_scope if all sessions of an account ended after a session was opened. */
async function assertNotSignedOut(
  transaction: Transaction,
  { created_at: openedAt }: Session,
  accountId: number,
): Promise<void> {
  const { signed_out_at: signedOutAt } = await Account.query(transaction)
    .findById(accountId)
    .select('signed_out_at')
    .throwIfNotFound();
  if (signedOutAt === null || openedAt > signedOutAt) return;
  const detail = `This session is older than the end of all sessions of that account. Open ${config.BASE_URL}/sign-in?again=yes in the browser, sign in again, and repeat the request.`;
  throw new ServiceError('insufficient_scope', detail);
}
