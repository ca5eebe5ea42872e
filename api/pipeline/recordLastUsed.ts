import type { Caller } from '../../shared/domain/accounts/caller.ts';
import { recordApiKeyLastUsed } from '../../shared/domain/accounts/credentials.ts';
import { recordSessionLastUsed } from '../../shared/domain/signIn/sessions.ts';
import { createLruCache } from '../../shared/lib/lruCache.ts';
import { sha256 } from '../../shared/lib/secrets.ts';
import { perService } from '../../shared/lib/serviceScope.ts';
import { API_KEY_LAST_USED_INTERVAL_MS } from '../../shared/spec/limits.ts';
import type { Context } from '../context.ts';

/**
 * Time at which this process last recorded a use, by the hash of a key or a session in hexadecimal digits, or by the
 * grant.
 */
const recordedAt = perService(() => createLruCache<string, number>(100_000));

/** Records the use of the request's credentials in `last_used_at`, at most once a minute and without delaying it. */
export function recordLastUsed(ctx: Context): void {
  const { caller, sessionToken } = ctx.state;
  if (sessionToken !== undefined) {
    const hash = sha256(sessionToken);
    recordUseThrottled(hash.toString('hex'), () => recordSessionLastUsed(hash));
  }
  if (caller !== undefined) recordKeyUse(caller);
}

/** Records the use of a key in the same way, if the caller has one. */
export function recordKeyUse({ credential }: Pick<Caller, 'credential'>): void {
  if (credential.kind !== 'key') return;
  const { hash } = credential;
  recordUseThrottled(hash.toString('hex'), () => recordApiKeyLastUsed(hash));
}

/** Runs `write` at most once a minute per credential. A failed write is retried at the next use. */
export function recordUseThrottled(id: string, write: () => Promise<void>): void {
  const at = performance.now();
  if (at - (recordedAt().peek(id) ?? -API_KEY_LAST_USED_INTERVAL_MS) < API_KEY_LAST_USED_INTERVAL_MS) return;
  recordedAt().set(id, at);
  write().catch(() => recordedAt().delete(id));
}

/** Returns true if this process has recorded a use of the session, which it does for valid ones only. */
export function isKnownSession(token: string): boolean {
  return recordedAt().has(sha256(token).toString('hex'));
}

/** Removes a session that turned out to be invalid from the cache. */
export function evictSession(token: string): void {
  recordedAt().delete(sha256(token).toString('hex'));
}
