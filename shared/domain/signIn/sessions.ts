import type { QueryBuilder, Transaction } from 'objection';
import { v7 as uuidv7 } from 'uuid';
import { createBatcher } from '../../lib/batcher.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { createLastUsedRecorder } from '../../lib/database/lastUsed.ts';
import { writeArray, prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { DB_WAIT_TIMEOUT } from '../../lib/database/waitTimeout.ts';
import { randomHex, sha256 } from '../../lib/secrets.ts';
import { ServiceError } from '../../spec/errors.ts';
import { SESSION_DAYS, SESSION_IDLE_DAYS, SESSION_LAST_USED_INTERVAL_MS } from '../../spec/limits.ts';
import type { Account } from '../../tables/Account.ts';
import { Identity } from '../../tables/Identity.ts';
import { Member } from '../../tables/Member.ts';
import { Session } from '../../tables/Session.ts';
import { DAY_MS } from '../../spec/durations.ts';
import { lockAccount } from '../credits/ledger.ts';
import { isEmailEnabled, recordEvent } from '../outbox/recordEvent.ts';
import type { Caller, CallerMember } from '../accounts/caller.ts';
import { accountSuspendedError, SESSION_ENDED_MEANWHILE_DETAIL } from '../accounts/credentials.ts';
import { describeRecipient, findPersonOfCaller, lockPerson } from '../accounts/people.ts';
import {
  describeOrigin,
  isUnknownBrowser,
  recordSecurityEvent,
  type RequestOrigin,
  SERVICE_ORIGIN,
} from '../accounts/securityEvents.ts';
import { chooseMembership, erasedError } from './findOrCreatePerson.ts';

export const SESSION_LIFETIME_MS = SESSION_DAYS * DAY_MS;

/**
 * Creates a session for the browser of a person, which acts on the account that it switched to last, else on its own.
 * @param origin the browser, shown in the list of sessions.
 * @param identityUuid identity that signed in; null for local sign-in.
 * @returns the value of the session cookie, of which only the hash is stored, and the account.
 * @throws ServiceError account_suspended, or not_found if the account was erased in the meantime.
 */
export async function createWebSession(
  personId: number,
  origin: RequestOrigin,
  identityUuid: string | null = null,
): Promise<{ token: string; account: Account }> {
  const open = () => openSession(personId, origin, identityUuid);
  const opened = (await open()) ?? (await open());
  if (opened === null) throw erasedError();
  return opened;
}

/** @returns null if the membership has ended since it was chosen: the next attempt chooses another. */
async function openSession(
  personId: number,
  origin: RequestOrigin,
  identityUuid: string | null,
): Promise<{ token: string; account: Account } | null> {
  const token = randomHex(32);
  return Session.transaction(async (transaction) => {
    const { account_id: accountId, number } = await chooseMembership(transaction, personId);
    // Locked, so that no session and no event is added to an account that is being suspended or erased.
    const account = await lockAccount(transaction, accountId);
    if (account.suspended_at !== null) throw accountSuspendedError();
    // Later than `signed_out_at` of the account.
    const createdAt = now();
    const member = await Member.query(transaction).findById([accountId, number]).throwIfNotFound();
    if (account.erased_at !== null || member.removed_at !== null) return null;
    const isNew = isEmailEnabled() && (await isUnknownBrowser(transaction, member, origin));
    const uuid = uuidv7();
    await Session.query(transaction).insert({
      token_hash: sha256(token),
      uuid,
      person_id: personId,
      account_id: accountId,
      member_number: number,
      identity_uuid: identityUuid,
      user_agent: origin.userAgent,
      created_at: createdAt,
      last_used_at: createdAt,
      expires_at: addMilliseconds(createdAt, SESSION_LIFETIME_MS),
    });
    const identity =
      identityUuid === null ? undefined : await Identity.query(transaction).findOne({ uuid: identityUuid });
    const details: Record<string, string> = identity === undefined ? {} : { provider: identity.provider };
    const subject: Record<string, string> = identity === undefined ? {} : { identity: identity.uuid };
    const signedIn = { ...origin, memberNumber: number };
    await recordSecurityEvent(transaction, { accountId, event: 'signed_in', origin: signedIn, details, subject });
    if (!isNew) return { token, account };
    const recipient = await describeRecipient(transaction, member);
    const facts = { provider: identity?.provider ?? '', ...describeOrigin(origin), ...recipient };
    await recordEvent(transaction, { accountId, type: 'session.created', subject: uuid, details: facts });
    return { token, account };
  });
}

const TOKEN_FORMAT = /^[0-9a-f]{64}$/;

/** Returns false for a cookie value that `createWebSession` cannot have issued. */
export function isSessionToken(text: string): boolean {
  return TOKEN_FORMAT.test(text);
}

type SessionOwnerRow = CallerMember & { token_hash: Buffer; account_id: number };

const FIND_SESSION_OWNERS = prepared(
  'find_session_owners',
  `SELECT s.token_hash, s.account_id, m.number, m.role
     FROM sessions s JOIN accounts a ON a.id = s.account_id
     JOIN members m ON m.account_id = s.account_id AND m.number = s.member_number AND m.removed_at IS NULL
    WHERE s.token_hash = ANY (${writeArray('hashes', 'bytea')}) AND s.expires_at > :now AND s.last_used_at > :idle AND a.suspended_at IS NULL`,
);

/** Account and member for whom a session acts. */
export type SessionOwner = Required<Pick<Caller, 'accountId' | 'member'>>;

const findOwnerByHash = createBatcher<Buffer, SessionOwner | undefined>({
  maxItems: 64,
  maxInFlight: 2,
  waitTimeout: DB_WAIT_TIMEOUT,
  run: async (hashes) => {
    const rows = await runStatement<SessionOwnerRow>(FIND_SESSION_OWNERS, {
      hashes,
      now: now(),
      idle: getIdleCutoff(),
    });
    const owners = new Map(
      rows.map(({ token_hash: hash, account_id: accountId, ...member }) => [
        hash.toString('hex'),
        { accountId, member },
      ]),
    );
    return hashes.map((hash) => owners.get(hash.toString('hex')));
  },
});

/** Finds for whom a session cookie acts; undefined if it is unknown, ended or expired, or its account suspended. */
export async function findSessionOwner(token: string): Promise<SessionOwner | undefined> {
  return isSessionToken(token) ? findOwnerByHash(sha256(token)) : undefined;
}

/** Returns the time before which unused sessions have expired. */
function getIdleCutoff(): Date {
  return addMilliseconds(now(), -SESSION_IDLE_DAYS * DAY_MS);
}

/** Finds the session of a cookie's hash, unless it has ended or expired. */
export async function findActiveSession(
  tokenHash: Buffer,
  transaction?: Transaction,
): Promise<Pick<Session, 'person_id' | 'account_id' | 'member_number'> | undefined> {
  return Session.query(transaction)
    .findById(tokenHash)
    .where('expires_at', '>', now())
    .where('last_used_at', '>', getIdleCutoff())
    .select('person_id', 'account_id', 'member_number');
}

/** Ends a session. Ending it again changes nothing. */
export async function endWebSession(token: string, origin: RequestOrigin): Promise<void> {
  await Session.transaction(async (transaction) => {
    const [ended] = await Session.query(transaction)
      .where({ token_hash: sha256(token) })
      .delete()
      .returning(['account_id', 'member_number']);
    if (ended === undefined) return;
    const { account_id: accountId, member_number: memberNumber } = ended;
    await recordSecurityEvent(transaction, { accountId, event: 'signed_out', origin: { ...origin, memberNumber } });
  });
}

/** A session as its owner sees it. */
export interface ActiveWebSession {
  uuid: string;
  userAgent: string;
  createdAt: Date;
  lastUsedAt: Date;
  isCurrent: boolean;
}

/** Maximum number of sessions in the list. Signing out of all other sessions ends the rest, too. */
const MAX_SESSIONS_LISTED = 50;

/**
 * Lists the active sessions of a person, or those that act on an account: the current one first, then by last use.
 * @param token session cookie of the caller.
 */
export async function listActiveSessions(
  whose: { person_id: number } | { account_id: number },
  token: string,
): Promise<ActiveWebSession[]> {
  const current = sha256(token);
  const sessions = await Session.query()
    .where(whose)
    .where('expires_at', '>', now())
    .where('last_used_at', '>', getIdleCutoff())
    .orderByRaw('token_hash = ? DESC, last_used_at DESC, uuid DESC', [current])
    .limit(MAX_SESSIONS_LISTED);
  return sessions.map((session) => ({
    uuid: session.uuid,
    userAgent: session.user_agent,
    createdAt: session.created_at,
    lastUsedAt: session.last_used_at,
    isCurrent: session.token_hash.equals(current),
  }));
}

/**
 * Finds one session of a person.
 * @throws ServiceError not_found when the person has no active session with that UUID.
 */
export async function findOwnSession(
  personId: number,
  uuid: string,
): Promise<Pick<ActiveWebSession, 'userAgent' | 'lastUsedAt'>> {
  const session = await Session.query()
    .where({ person_id: personId, uuid })
    .where('expires_at', '>', now())
    .where('last_used_at', '>', getIdleCutoff())
    .first();
  if (session === undefined) throw sessionNotFoundError();
  return { userAgent: session.user_agent, lastUsedAt: session.last_used_at };
}

/**
 * Ends one session of the person of a caller immediately.
 * @throws ServiceError not_found when the person has no active session with that UUID; invalid_api_key if the caller's
 *   own has ended meanwhile.
 */
export async function revokeWebSession(caller: Caller, uuid: string, origin: RequestOrigin): Promise<void> {
  await Session.transaction(async (transaction) => {
    const [ended] = await endOwnSessions(transaction, caller, (own) => own.where({ uuid }));
    if (ended === undefined) throw sessionNotFoundError();
    const { accountId } = caller;
    const details = { ended_browser: ended.user_agent };
    await recordSecurityEvent(transaction, {
      accountId,
      event: 'session_ended',
      origin,
      details,
      subject: { session: uuid },
    });
  });
}

function sessionNotFoundError(): ServiceError {
  return new ServiceError('not_found', 'Not found. This session has already ended.');
}

/**
 * Ends all sessions of the person of a caller except the current one.
 * @param token session cookie of the caller.
 * @returns the number of sessions that were ended.
 */
export async function revokeOtherWebSessions(
  caller: Caller,
  token: string,
  origin: RequestOrigin = SERVICE_ORIGIN,
): Promise<number> {
  return Session.transaction(async (transaction) => {
    const ended = await endOwnSessions(transaction, caller, (own) => own.whereNot('token_hash', sha256(token)));
    const sessions = ended.length;
    if (sessions > 0) {
      const { accountId } = caller;
      const details = { sessions };
      await recordSecurityEvent(transaction, { accountId, event: 'session_ended', origin, details, subject: details });
    }
    return sessions;
  });
}

/** @throws ServiceError invalid_api_key if a session has ended before its person was locked. */
export async function assertSessionActive(transaction: Transaction, sessionHash: Buffer): Promise<void> {
  if ((await findActiveSession(sessionHash, transaction)) === undefined)
    throw new ServiceError('invalid_api_key', SESSION_ENDED_MEANWHILE_DETAIL);
}

/** Ends sessions of a person, with the accounts locked that they act on. */
async function endOwnSessions(
  transaction: Transaction,
  caller: Caller,
  select: (own: QueryBuilder<Session>) => QueryBuilder<Session>,
): Promise<Session[]> {
  const person = await findPersonOfCaller(caller, transaction);
  if (person === undefined) return [];
  await lockPerson(transaction, person.id);
  if (caller.credential.kind === 'session') await assertSessionActive(transaction, caller.credential.hash);
  const hashes = select(Session.query(transaction).where({ person_id: person.id })).select('token_hash');
  return Session.query(transaction).whereIn('token_hash', hashes).delete().returning('*');
}

/** Records that sessions were used, by their hashes. At most once per session and 60 seconds over all processes. */
export const recordSessionLastUsed = createLastUsedRecorder({
  name: 'record_sessions_last_used',
  table: 'sessions',
  key: 'token_hash',
  type: 'bytea',
  intervalMs: SESSION_LAST_USED_INTERVAL_MS,
});
