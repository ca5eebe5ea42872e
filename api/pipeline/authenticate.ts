import { LRUCache } from 'lru-cache';
import type { Caller } from '../../shared/domain/accounts/accounts.ts';
import { findApiKeyOwner, hashApiKey, recordApiKeyLastUsed } from '../../shared/domain/accounts/apiKeys.ts';
import { findSessionOwner, isSessionToken, recordSessionLastUsed } from '../../shared/domain/accounts/sessions.ts';
import { sha256 } from '../../shared/lib/secrets.ts';
import { perService } from '../../shared/lib/serviceScope.ts';
import { API_KEY_LAST_USED_INTERVAL_MS, SESSION_LAST_USED_INTERVAL_MS } from '../../shared/spec/limits.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import type { Context } from '../context.ts';
import { serviceOrigin } from './serviceOrigin.ts';
import { requireAddressWithinRateLimit } from './rateLimit.ts';

export const SESSION_COOKIE = 'token';

/**
 * Account of each key that this process has seen valid. Validity itself is never cached: each request verifies it.
 * An entry is deleted when its key is revoked here, or found revoked.
 */
const keyOwnerCache = perService(() => new LRUCache<string, { accountId: number; touchedAt: number }>({ max: 50_000 }));

/**
 * Reads the request's credentials: an API key in either header, the session cookie, or several of them, which then
 * must be of one account. A key that was seen before is left for `verify`, or for the statement that serves the
 * request, to check.
 * @throws ServiceError invalid_api_key
 */
export async function authenticate(ctx: Context): Promise<Caller> {
  const token = ctx.cookies.get(SESSION_COOKIE) || undefined;
  const keyHash = readApiKey(ctx);
  if (keyHash === null && token === undefined) {
    throw invalidApiKeyError('Send an API key as "Authorization: Bearer svc_…" or "X-API-Key: svc_…", or sign in.');
  }
  const session = token === undefined ? null : await authenticateSessionToken(ctx, token);
  if (keyHash === null) return session as Caller;
  const accountId = await findCachedKeyOwner(keyHash);
  if (session !== null && session.accountId !== accountId) {
    throw invalidApiKeyError('The API key and the session cookie are of different accounts: send one of them.');
  }
  return { accountId, keyHash };
}

/**
 * Reads the session cookie, the only credential that session endpoints accept.
 * @throws ServiceError invalid_api_key
 */
export async function authenticateSession(ctx: Context): Promise<Caller> {
  const token = ctx.cookies.get(SESSION_COOKIE) || undefined;
  if (token === undefined) throw invalidApiKeyError('Sign in first: this takes the session cookie, not an API key.');
  return authenticateSessionToken(ctx, token);
}

/**
 * Checks that a caller's key is valid at this moment, where `identify` has left that open.
 * @throws ServiceError invalid_api_key
 */
export async function verifyKey(caller: Caller): Promise<void> {
  if (caller.keyHash === null) return;
  if ((await findApiKeyOwner(caller.keyHash)) === caller.accountId) return;
  evictKey(caller.keyHash);
  throw unknownKeyError();
}

/** Drops a key from the cache once it is revoked: from then on it is verified before anything is counted. */
export function evictKey(keyHash: Buffer | null | undefined): void {
  if (keyHash != null) keyOwnerCache().delete(keyHash.toString('base64'));
}

/**
 * Finds out who looks at a page; where the cookie is missing or worth nothing, nobody in particular. Forms are not
 * asked for their origin here: `requireOwnForm` asks for more.
 */
export async function authenticateOptional(ctx: Context): Promise<void> {
  const token = ctx.cookies.get(SESSION_COOKIE) || undefined;
  const accountId = token === undefined ? undefined : await findSessionAccount(ctx, token);
  if (accountId === undefined) return;
  ctx.state.caller = { accountId, keyHash: null };
  ctx.state.sessionToken = token;
}

/** Notes the use of what the request came with in `last_used_at`, now and then, without holding the request up. */
export function recordLastUsed(ctx: Context): void {
  const { caller, sessionToken } = ctx.state;
  if (sessionToken !== undefined) recordSessionUse(sessionToken);
  if (caller !== undefined && caller.keyHash !== null) recordKeyUse(caller.keyHash);
}

/** When this process last noted the use of a session, by its hash. */
const sessionUseRecordedAt = perService(() => new LRUCache<string, number>({ max: 50_000 }));

function recordSessionUse(token: string): void {
  const hash = sha256(token);
  const name = hash.toString('base64');
  const at = performance.now();
  if (at - (sessionUseRecordedAt().get(name) ?? -SESSION_LAST_USED_INTERVAL_MS) < SESSION_LAST_USED_INTERVAL_MS) return;
  sessionUseRecordedAt().set(name, at);
  recordSessionLastUsed(hash).catch(() => sessionUseRecordedAt().delete(name));
}

function recordKeyUse(keyHash: Buffer): void {
  const known = keyOwnerCache().get(keyHash.toString('base64'));
  const at = performance.now();
  if (known === undefined || at - known.touchedAt < API_KEY_LAST_USED_INTERVAL_MS) return;
  known.touchedAt = at;
  recordApiKeyLastUsed(keyHash).catch(() => {
    known.touchedAt = -API_KEY_LAST_USED_INTERVAL_MS;
  });
}

async function findCachedKeyOwner(keyHash: Buffer): Promise<number> {
  const name = keyHash.toString('base64');
  const known = keyOwnerCache().get(name);
  if (known !== undefined) return known.accountId;
  const accountId = await findApiKeyOwner(keyHash);
  if (accountId === undefined) throw unknownKeyError();
  keyOwnerCache().set(name, { accountId, touchedAt: -API_KEY_LAST_USED_INTERVAL_MS });
  return accountId;
}

async function authenticateSessionToken(ctx: Context, token: string): Promise<Caller> {
  const accountId = await findSessionAccount(ctx, token);
  if (accountId === undefined) throw invalidApiKeyError('The session is over: sign in again.');
  requireSameOrigin(ctx);
  ctx.state.sessionToken = token;
  return { accountId, keyHash: null };
}

/**
 * Finds the account of a session cookie. A cookie that this process has not seen valid costs a query, so an address over
 * its limit is refused first.
 * @throws ServiceError rate_limited
 */
async function findSessionAccount(ctx: Context, token: string): Promise<number | undefined> {
  if (!isSessionToken(token)) return undefined;
  const name = sha256(token).toString('base64');
  if (!sessionUseRecordedAt().has(name)) await requireAddressWithinRateLimit(ctx);
  const accountId = await findSessionOwner(token);
  if (accountId === undefined) sessionUseRecordedAt().delete(name);
  return accountId;
}

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

/** A cookie travels with requests that other sites cause: it counts for changes only where the page was ours. */
function requireSameOrigin(ctx: Context): void {
  if (SAFE_METHODS.has(ctx.method) || ctx.get('origin') === serviceOrigin()) return;
  throw invalidApiKeyError(`With the session cookie, changes must come with "Origin: ${serviceOrigin()}".`);
}

/** The hash of the API key in the headers, or null where there is none. */
function readApiKey(ctx: Context): Buffer | null {
  const authorization = ctx.get('authorization');
  const inHeader = ctx.get('x-api-key');
  const bearer = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
  if (authorization !== '' && bearer === undefined)
    throw invalidApiKeyError('Write the header as "Authorization: Bearer svc_…".');
  if (bearer !== undefined && inHeader !== '' && bearer !== inHeader) {
    throw invalidApiKeyError('The Authorization and X-API-Key headers carry different keys: send one of them.');
  }
  const key = bearer ?? inHeader;
  if (key === '') return null;
  const hash = hashApiKey(key);
  if (hash === null) throw invalidApiKeyError('An API key is "svc_" followed by 40 hex characters.');
  return hash;
}

function unknownKeyError(): ServiceError {
  return invalidApiKeyError('The API key is unknown or revoked.');
}

function invalidApiKeyError(detail: string): ServiceError {
  return new ServiceError('invalid_api_key', detail, { headers: { 'www-authenticate': 'Bearer' } });
}
