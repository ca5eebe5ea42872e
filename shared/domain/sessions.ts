import { v7 as uuidv7 } from 'uuid';
import { addMilliseconds, now } from '../lib/clock.ts';
import { randomHex, sha256 } from '../lib/secrets.ts';
import { SESSION_DAYS } from '../spec/limits.ts';
import { Session } from '../tables/Session.ts';

export const SESSION_MS = SESSION_DAYS * 24 * 60 * 60 * 1_000;

/** Signs a browser in. @returns the cookie's value, which is known to nobody else: only its hash is stored. */
export async function openSession(accountId: number): Promise<string> {
  const token = randomHex(32);
  const createdAt = now();
  await Session.query().insert({
    token_hash: sha256(token),
    uuid: uuidv7(),
    account_id: accountId,
    created_at: createdAt,
    expires_at: addMilliseconds(createdAt, SESSION_MS),
  });
  return token;
}

/** The account that a session cookie belongs to, or undefined where it is unknown, ended or expired. */
export async function findSessionOwner(token: string): Promise<number | undefined> {
  const session = await Session.query().findById(sha256(token)).where('expires_at', '>', now()).select('account_id');
  return session?.account_id;
}

/** Ends a session; one that is over already stays so. */
export async function closeSession(token: string): Promise<void> {
  await Session.query().deleteById(sha256(token));
}

const AT_ONCE = 1_000;

/** Forgets sessions that have expired. */
export async function forgetExpiredSessions(): Promise<void> {
  for (let forgotten = AT_ONCE; forgotten === AT_ONCE; ) {
    const expired = Session.query().select('token_hash').where('expires_at', '<=', now()).limit(AT_ONCE);
    forgotten = await Session.query().whereIn('token_hash', expired).delete();
  }
}
