import type { Transaction } from 'objection';
import { v7 as uuidv7 } from 'uuid';
import { createBatcher } from '../lib/batcher.ts';
import { addMilliseconds, now } from '../lib/clock.ts';
import { DATABASE_PATIENCE, prepared, run } from '../lib/db.ts';
import { randomHex, sha256 } from '../lib/secrets.ts';
import { ServiceError } from '../spec/errors.ts';
import { SESSION_DAYS, SESSION_IDLE_DAYS, SESSION_TOUCH_MS, USER_AGENT_MAX_CHARACTERS } from '../spec/limits.ts';
import { Session } from '../tables/Session.ts';

export const SESSION_MS = SESSION_DAYS * 24 * 60 * 60 * 1_000;

/**
 * Signs a browser in.
 * @param userAgent what the browser calls itself, so that its owner knows it again.
 * @param identityUuid the identity that was signed in with; null for the local sign-in.
 * @returns the cookie's value, which is known to nobody else: only its hash is stored.
 */
export async function openSession(
  accountId: number,
  userAgent: string,
  identityUuid: string | null = null,
): Promise<string> {
  const token = randomHex(32);
  const createdAt = now();
  await Session.query().insert({
    token_hash: sha256(token),
    uuid: uuidv7(),
    account_id: accountId,
    identity_uuid: identityUuid,
    user_agent: userAgent.toWellFormed().replaceAll('\u0000', '').slice(0, USER_AGENT_MAX_CHARACTERS),
    created_at: createdAt,
    last_used_at: createdAt,
    expires_at: addMilliseconds(createdAt, SESSION_MS),
  });
  return token;
}

const TOKEN_FORMAT = /^[0-9a-f]{64}$/;

/** Returns false for a cookie value that `openSession` cannot have issued. */
export function isSessionToken(text: string): boolean {
  return TOKEN_FORMAT.test(text);
}

const FIND_OWNERS = prepared(
  'find_session_owners',
  `SELECT token_hash, account_id FROM sessions
    WHERE token_hash = ANY (:hashes) AND expires_at > :now AND last_used_at > :idle`,
);

const findOwner = createBatcher<Buffer, number | undefined>({
  maxItems: 64,
  maxInFlight: 2,
  patience: DATABASE_PATIENCE,
  run: async (hashes) => {
    const rows = await run<{ token_hash: Buffer; account_id: number }>(FIND_OWNERS, {
      hashes,
      now: now(),
      idle: idleSince(),
    });
    const owners = new Map(rows.map((row) => [row.token_hash.toString('hex'), row.account_id]));
    return hashes.map((hash) => owners.get(hash.toString('hex')));
  },
});

/** Finds the account of a session cookie; undefined where the session is unknown, ended or expired. */
export async function findSessionOwner(token: string): Promise<number | undefined> {
  return isSessionToken(token) ? findOwner(sha256(token)) : undefined;
}

/** Sessions that were last used before this are over. */
function idleSince(): Date {
  return addMilliseconds(now(), -SESSION_IDLE_DAYS * 86_400_000);
}

/** Finds the session of a cookie's hash, unless it has ended or expired. */
export async function findLiveSession(
  tokenHash: Buffer,
  transaction?: Transaction,
): Promise<Pick<Session, 'account_id'> | undefined> {
  return Session.query(transaction)
    .findById(tokenHash)
    .where('expires_at', '>', now())
    .where('last_used_at', '>', idleSince())
    .select('account_id');
}

/** Ends a session; one that is over already stays so. */
export async function closeSession(token: string): Promise<void> {
  await Session.query().deleteById(sha256(token));
}

/** A session as its owner sees it. */
export interface OpenSession {
  uuid: string;
  userAgent: string;
  createdAt: Date;
  lastUsedAt: Date;
  isCurrent: boolean;
}

/** More than a person has browsers; what is beyond is ended with the others. */
const SHOWN = 50;

/**
 * Where an account is signed in: this session first, then those used last.
 * @param token the cookie of who is asking.
 */
export async function openSessions(accountId: number, token: string): Promise<OpenSession[]> {
  const current = sha256(token);
  const sessions = await Session.query()
    .where({ account_id: accountId })
    .where('expires_at', '>', now())
    .where('last_used_at', '>', idleSince())
    .orderByRaw('token_hash = ? DESC, last_used_at DESC, uuid DESC', [current])
    .limit(SHOWN);
  return sessions.map((session) => ({
    uuid: session.uuid,
    userAgent: session.user_agent,
    createdAt: session.created_at,
    lastUsedAt: session.last_used_at,
    isCurrent: session.token_hash.equals(current),
  }));
}

/**
 * Ends one of an account's sessions, at once.
 * @throws ServiceError not_found when the account has no such session, or not any more.
 */
export async function endSession(accountId: number, uuid: string): Promise<void> {
  const ended = await Session.query().where({ account_id: accountId, uuid }).delete();
  if (ended === 0) throw new ServiceError('not_found', 'There is no such session: it has ended already.');
}

/**
 * Signs an account out everywhere but here.
 * @param token the cookie of who is asking.
 * @returns how many sessions that ended.
 */
export async function endOtherSessions(accountId: number, token: string): Promise<number> {
  return Session.query().where({ account_id: accountId }).whereNot('token_hash', sha256(token)).delete();
}

const TOUCH = prepared(
  'touch_sessions',
  `UPDATE sessions SET last_used_at = :now
    WHERE token_hash IN (
      SELECT token_hash FROM sessions
       WHERE token_hash = ANY (:hashes) AND last_used_at <= :before
       ORDER BY token_hash FOR NO KEY UPDATE SKIP LOCKED)`,
);

/** Notes that sessions were used, by their hashes; at most once in 60 seconds a session over all processes. */
export const touchSession = createBatcher<Buffer, void>({
  maxItems: 64,
  maxInFlight: 1,
  run: async (hashes) => {
    const at = now();
    await run(TOUCH, { hashes, now: at, before: addMilliseconds(at, -SESSION_TOUCH_MS) });
    return [];
  },
});

const AT_ONCE = 1_000;

/** Forgets sessions that have expired. */
export async function forgetExpiredSessions(): Promise<void> {
  for (let forgotten = AT_ONCE; forgotten === AT_ONCE; ) {
    const expired = Session.query().select('token_hash').where('expires_at', '<=', now()).limit(AT_ONCE);
    forgotten = await Session.query().whereIn('token_hash', expired).delete();
  }
}
