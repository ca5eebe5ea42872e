import type { Transaction } from 'objection';
import { v7 as uuidv7 } from 'uuid';
import { createBatcher } from '../../lib/batcher.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { createLastUsedRecorder } from '../../lib/database/lastUsed.ts';
import { writeArray, prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { DB_WAIT_TIMEOUT } from '../../lib/database/waitTimeout.ts';
import { randomHex, sha256 } from '../../lib/secrets.ts';
import { ServiceError } from '../../spec/errors.ts';
import { SESSION_DAYS, SESSION_IDLE_DAYS, SESSION_LAST_USED_INTERVAL_MS } from '../../spec/limits.ts';
import { Identity } from '../../tables/Identity.ts';
import { Session } from '../../tables/Session.ts';
import { DAY_MS } from '../../spec/durations.ts';
import { lockAccount } from '../credits/ledger.ts';
import { isEmailEnabled, recordEvent } from '../outbox/recordEvent.ts';
import { accountSuspendedError } from '../accounts/credentials.ts';
import {
  describeOrigin,
  isUnknownBrowser,
  recordSecurityEvent,
  type RequestOrigin,
  SERVICE_ORIGIN,
} from '../accounts/securityEvents.ts';

export const SESSION_LIFETIME_MS = SESSION_DAYS * DAY_MS;

/**
 * Creates a session for a browser.
 * @param origin the browser, shown in the list of sessions.
 * @param identityUuid identity that signed in; null for local sign-in.
 * @returns the value of the session cookie. Only its hash is stored.
 * @throws ServiceError account_suspended, or not_found if the account was erased in the meantime.
 */
export async function createWebSession(
  accountId: number,
  origin: RequestOrigin,
  identityUuid: string | null = null,
): Promise<string> {
  const token = randomHex(32);
  const createdAt = now();
  await Session.transaction(async (transaction) => {
    // Locked, so that no session and no event is added to an account that is being suspended or erased.
    const account = await lockAccount(transaction, accountId);
    const { erased_at: erasedAt, suspended_at: suspendedAt } = account;
    if (suspendedAt !== null) throw accountSuspendedError();
    if (erasedAt !== null) throw new ServiceError('not_found', 'Not found. The account was deleted: sign in again.');
    const isNew = isEmailEnabled() && (await isUnknownBrowser(transaction, account, origin));
    const uuid = uuidv7();
    await Session.query(transaction).insert({
      token_hash: sha256(token),
      uuid,
      account_id: accountId,
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
    await recordSecurityEvent(transaction, { accountId, event: 'signed_in', origin, details, subject });
    if (!isNew) return;
    const facts = { provider: identity?.provider ?? '', ...describeOrigin(origin) };
    await recordEvent(transaction, { accountId, type: 'session.created', subject: uuid, details: facts });
  });
  return token;
}

const TOKEN_FORMAT = /^[0-9a-f]{64}$/;

/** Returns false for a cookie value that `createWebSession` cannot have issued. */
export function isSessionToken(text: string): boolean {
  return TOKEN_FORMAT.test(text);
}

const FIND_SESSION_OWNERS = prepared(
  'find_session_owners',
  `SELECT s.token_hash, s.account_id
     FROM sessions s JOIN accounts a ON a.id = s.account_id
    WHERE s.token_hash = ANY (${writeArray('hashes', 'bytea')}) AND s.expires_at > :now AND s.last_used_at > :idle AND a.suspended_at IS NULL`,
);

const findOwnerByHash = createBatcher<Buffer, number | undefined>({
  maxItems: 64,
  maxInFlight: 2,
  waitTimeout: DB_WAIT_TIMEOUT,
  run: async (hashes) => {
    const rows = await runStatement<{ token_hash: Buffer; account_id: number }>(FIND_SESSION_OWNERS, {
      hashes,
      now: now(),
      idle: getIdleCutoff(),
    });
    const owners = new Map(rows.map((row) => [row.token_hash.toString('hex'), row.account_id]));
    return hashes.map((hash) => owners.get(hash.toString('hex')));
  },
});

/** Finds the account of a session cookie; undefined if it is unknown, ended or expired, or its account suspended. */
export async function findSessionOwner(token: string): Promise<number | undefined> {
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
): Promise<Pick<Session, 'account_id'> | undefined> {
  return Session.query(transaction)
    .findById(tokenHash)
    .where('expires_at', '>', now())
    .where('last_used_at', '>', getIdleCutoff())
    .select('account_id');
}

/** Ends a session. Ending it again changes nothing. */
export async function endWebSession(token: string, origin: RequestOrigin): Promise<void> {
  await Session.transaction(async (transaction) => {
    const [ended] = await Session.query(transaction)
      .where({ token_hash: sha256(token) })
      .delete()
      .returning('account_id');
    if (ended === undefined) return;
    await recordSecurityEvent(transaction, { accountId: ended.account_id, event: 'signed_out', origin });
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
 * Lists the active sessions of an account: the current one first, then by last use.
 * @param token session cookie of the caller.
 */
export async function listActiveSessions(accountId: number, token: string): Promise<ActiveWebSession[]> {
  const current = sha256(token);
  const sessions = await Session.query()
    .where({ account_id: accountId })
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
 * Finds one session of an account.
 * @throws ServiceError not_found when the account has no active session with that UUID.
 */
export async function findOwnSession(
  accountId: number,
  uuid: string,
): Promise<Pick<ActiveWebSession, 'userAgent' | 'lastUsedAt'>> {
  const session = await Session.query()
    .where({ account_id: accountId, uuid })
    .where('expires_at', '>', now())
    .where('last_used_at', '>', getIdleCutoff())
    .first();
  if (session === undefined) throw sessionNotFoundError();
  return { userAgent: session.user_agent, lastUsedAt: session.last_used_at };
}

/**
 * Ends one session of an account immediately.
 * @throws ServiceError not_found when the account has no active session with that UUID.
 */
export async function revokeWebSession(accountId: number, uuid: string, origin: RequestOrigin): Promise<void> {
  await Session.transaction(async (transaction) => {
    await lockAccount(transaction, accountId);
    const [ended] = await Session.query(transaction)
      .where({ account_id: accountId, uuid })
      .delete()
      .returning('user_agent');
    if (ended === undefined) throw sessionNotFoundError();
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
 * Ends all sessions of an account except the current one.
 * @param token session cookie of the caller.
 * @returns the number of sessions that were ended.
 */
export async function revokeOtherWebSessions(
  accountId: number,
  token: string,
  origin: RequestOrigin = SERVICE_ORIGIN,
): Promise<number> {
  return Session.transaction(async (transaction) => {
    await lockAccount(transaction, accountId);
    const sessions = await Session.query(transaction)
      .where({ account_id: accountId })
      .whereNot('token_hash', sha256(token))
      .delete();
    if (sessions > 0) {
      const details = { sessions };
      await recordSecurityEvent(transaction, { accountId, event: 'session_ended', origin, details, subject: details });
    }
    return sessions;
  });
}

/** Records that sessions were used, by their hashes. At most once per session and 60 seconds over all processes. */
export const recordSessionLastUsed = createLastUsedRecorder({
  name: 'record_sessions_last_used',
  table: 'sessions',
  key: 'token_hash',
  type: 'bytea',
  intervalMs: SESSION_LAST_USED_INTERVAL_MS,
});
