import type { Caller } from '../../shared/domain/accounts/accounts.ts';
import { recordApiKeyLastUsed } from '../../shared/domain/accounts/apiKeyOwners.ts';
import { recordSessionLastUsed } from '../../shared/domain/accounts/sessions.ts';
import { createLruCache } from '../../shared/lib/lruCache.ts';
import { sha256, sha256Base64 } from '../../shared/lib/secrets.ts';
import { perService } from '../../shared/lib/serviceScope.ts';
import { API_KEY_LAST_USED_INTERVAL_MS } from '../../shared/spec/limits.ts';
import type { Context } from '../context.ts';

/** Time at which this process last recorded a use, by the hash of a key or a session in base64, or by the grant. */
const recordedAt = perService(() => createLruCache<string, number>(100_000));

/** Records the use of the request's credentials in `last_used_at`, at most once a minute and without delaying it. */
export function recordLastUsed(ctx: Context): void {
  const { caller, sessionToken } = ctx.state;
  if (sessionToken !== undefined) {
    recordUseThrottled(sha256Base64(sessionToken), () => recordSessionLastUsed(sha256(sessionToken)));
  }
  if (caller !== undefined) recordKeyUse(caller);
}

/** Records the use of a key in the same way, if the caller has one. */
export function recordKeyUse({ keyHash, keyHashBase64 }: Pick<Caller, 'keyHash' | 'keyHashBase64'>): void {
  if (keyHash === null || keyHashBase64 === undefined) return;
  recordUseThrottled(keyHashBase64, () => recordApiKeyLastUsed(keyHash));
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
  return recordedAt().has(sha256Base64(token));
}

/** Removes a session that turned out to be invalid from the cache. */
export function evictSession(token: string): void {
  recordedAt().delete(sha256Base64(token));
}
