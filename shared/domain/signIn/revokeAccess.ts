import type { Transaction } from 'objection';
import { now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { Account } from '../../tables/Account.ts';
import { ApiKey } from '../../tables/ApiKey.ts';
import { OAuthGrant } from '../../tables/OAuthGrant.ts';
import { Session } from '../../tables/Session.ts';
import { revokeGrants } from '../oauth/grants.ts';
import { recordEvent } from '../outbox/recordEvent.ts';
import { disableEndpoints } from '../webhooks/endpointState.ts';
import type { LockedPerson } from '../accounts/people.ts';
import type { RequestOrigin } from '../accounts/securityEvents.ts';
import { findTestAccountId, lockTestAccount } from '../accounts/testAccounts.ts';
import { openInvitations, revokeInvitations } from './revokeInvitations.ts';

/** Number of credentials that were ended. */
export interface RevokedAccess {
  sessions: number;
  keys: number;
  grants: number;
}

/** Counts the sessions that act on an account, and those of its members that act on others and may switch to it. */
const COUNT_SESSIONS = prepared(
  'count_sessions',
  `SELECT cast(count(*) AS int) AS sessions
     FROM accounts a
     JOIN members m ON m.account_id = a.id AND m.removed_at IS NULL
     JOIN sessions s ON s.person_id = m.person_id
    WHERE a.id = :accountId AND s.token_hash IS DISTINCT FROM cast(:keptSession AS bytea)
      AND (s.account_id = a.id OR a.signed_out_at IS NULL OR s.created_at > a.signed_out_at)`,
);

async function countSessions(
  accountId: number,
  keptSession: Buffer | null = null,
  transaction?: Transaction,
): Promise<number> {
  const rows = await runStatement<{ sessions: number }>(COUNT_SESSIONS, { accountId, keptSession }, transaction);
  return rows[0]?.sessions ?? 0;
}

/**
 * Ends all sessions of an account whose row the transaction has locked: those that act on it, and the right to switch
 * to it of those that act on another account.
 * @param keptSession hash of a session cookie that stays valid.
 * @returns the number of both.
 */
export async function endSessions(
  transaction: Transaction,
  accountId: number,
  keptSession: Buffer | null = null,
): Promise<number> {
  const sessions = await countSessions(accountId, keptSession, transaction);
  await Session.query(transaction)
    .delete()
    .where({ account_id: accountId })
    .modify((others) => void (keptSession !== null && others.whereNot('token_hash', keptSession)));
  await Account.query(transaction).findById(accountId).patch({ signed_out_at: now() });
  return sessions;
}

/**
 * Ends all sessions, API keys and OAuth grants of an account whose row the transaction has locked.
 * @param keptSession hash of a session cookie that stays valid.
 * @param since keys and grants that were created before this time stay valid.
 */
export async function revokeAccess(
  transaction: Transaction,
  accountId: number,
  { keptSession = null, since = new Date(0) }: { keptSession?: Buffer | null; since?: Date } = {},
): Promise<RevokedAccess> {
  const sessions = await endSessions(transaction, accountId, keptSession);
  return { sessions, ...(await revokeCredentials(transaction, accountId, { since })) };
}

/**
 * Revokes API keys and OAuth grants of an account whose row the transaction has locked.
 * @param since those that were created before this time stay valid.
 * @param memberNumber the member who made them. Undefined: all members.
 */
export async function revokeCredentials(
  transaction: Transaction,
  accountId: number,
  { since = new Date(0), memberNumber }: { since?: Date; memberNumber?: number },
): Promise<Omit<RevokedAccess, 'sessions'>> {
  const made = { account_id: accountId, ...(memberNumber === undefined ? {} : { member_number: memberNumber }) };
  const keys = await ApiKey.query(transaction)
    .patch({ revoked_at: now() })
    .where(made)
    .whereNull('revoked_at')
    .where('created_at', '>=', since)
    .returning(['uuid', 'name', 'prefix']);
  for (const { uuid: subject, ...details } of keys.map(({ uuid, name, prefix }) => ({ uuid, name, prefix }))) {
    await recordEvent(transaction, { accountId, type: 'key.revoked', subject, details });
  }
  const grants = await revokeGrants(made, transaction, since);
  await Account.query(transaction).findById(accountId).decrement('active_key_count', keys.length);
  await lockTestAccount(transaction, accountId);
  return { keys: keys.length, grants };
}

/**
 * Result of revoking all access. Endpoints that a stolen credential created would keep receiving data, and invitations
 * that it sent would let other people in.
 */
export interface RevokedAllAccess extends RevokedAccess {
  /** Number of webhook endpoints that were disabled. */
  webhooks: number;
  /** Number of open invitations that were revoked. */
  invitations: number;
}

/**
 * Ends all credentials of an account whose row the transaction has locked, disables its webhook endpoints and revokes
 * its open invitations. Its members stay.
 * @param since keys, grants, endpoints and invitations that were created, or endpoints changed, before this time stay.
 */
export async function revokeAllAccess(
  transaction: Transaction,
  accountId: number,
  origin: RequestOrigin,
  since = new Date(0),
): Promise<RevokedAllAccess> {
  const revoked = await revokeAccess(transaction, accountId, { since });
  const testAccountId = await findTestAccountId(accountId, transaction);
  const webhooks = await disableEndpoints(transaction, accountId, since);
  const testWebhooks = testAccountId === null ? 0 : await disableEndpoints(transaction, testAccountId, since);
  const invitations = await revokeInvitations(transaction, accountId, since, origin);
  return { ...revoked, webhooks: webhooks + testWebhooks, invitations };
}

/**
 * Ends all sessions of a locked person, revokes all access to the accounts that it owns as {@link revokeAllAccess}
 * does, and what it made in others.
 * @returns what was ended in each account, with the number of the person there.
 */
export async function revokePersonAccess(
  transaction: Transaction,
  { person, members }: LockedPerson,
  origin: RequestOrigin,
  since = new Date(0),
): Promise<Map<number, { memberNumber: number; revoked: RevokedAccess }>> {
  const ended = new Map<number, { memberNumber: number; revoked: RevokedAccess }>();
  for (const { account_id: accountId, number: memberNumber, role } of members) {
    const revoked =
      role === 'owner'
        ? await revokeAllAccess(transaction, accountId, { ...origin, memberNumber }, since)
        : { sessions: 0, ...(await revokeCredentials(transaction, accountId, { since, memberNumber })) };
    ended.set(accountId, { memberNumber, revoked });
  }
  await Session.query(transaction).delete().where({ person_id: person.id });
  return ended;
}

/** Counts what `revokeAllAccess` would end. */
export async function countActiveAccess(accountId: number): Promise<RevokedAllAccess> {
  const [sessions, keys, grants, accounts, invitations] = await Promise.all([
    countSessions(accountId),
    ApiKey.query().where({ account_id: accountId }).whereNull('revoked_at').resultSize(),
    OAuthGrant.query().where({ account_id: accountId }).whereNull('revoked_at').resultSize(),
    Account.query().where({ id: accountId }).orWhere({ live_account_id: accountId }).select('webhook_count'),
    openInvitations().where({ account_id: accountId }).resultSize(),
  ]);
  const webhooks = accounts.reduce((sum, { webhook_count: count }) => sum + count, 0);
  return { sessions, keys, grants, webhooks, invitations };
}
