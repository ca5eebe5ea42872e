import { LRUCache } from 'lru-cache';
import type { Caller } from '../../shared/domain/accounts.ts';
import { findKeyOwner, hashApiKey, touchApiKey } from '../../shared/domain/apiKeys.ts';
import { findSessionOwner, isSessionToken, touchSession } from '../../shared/domain/sessions.ts';
import { sha256 } from '../../shared/lib/secrets.ts';
import { perService } from '../../shared/lib/serviceScope.ts';
import { API_KEY_TOUCH_MS, SESSION_TOUCH_MS } from '../../shared/spec/limits.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import type { Context } from '../context.ts';
import { ownOrigin } from './ownOrigin.ts';
import { requireAddressWithinLimit } from './rateLimit.ts';

export const SESSION_COOKIE = 'token';

/**
 * Account of each key that this process has seen valid. Validity itself is never cached: each request verifies it.
 * An entry is deleted when its key is revoked here, or found revoked.
 */
const ownerOfKey = perService(() => new LRUCache<string, { accountId: number; touchedAt: number }>({ max: 50_000 }));

/**
 * Reads the request's credentials: an API key in either header, the session cookie, or several of them, which then
 * must be of one account. A key that was seen before is left for `verify`, or for the statement that serves the
 * request, to check.
 * @throws ServiceError invalid_api_key
 */
export async function identify(ctx: Context): Promise<Caller> {
  const token = ctx.cookies.get(SESSION_COOKIE) || undefined;
  const keyHash = presentedKey(ctx);
  if (keyHash === null && token === undefined) {
    throw refused('Send an API key as "Authorization: Bearer svc_…" or "X-API-Key: svc_…", or sign in.');
  }
  const session = token === undefined ? null : await sessionCaller(ctx, token);
  if (keyHash === null) return session as Caller;
  const accountId = await accountOfKey(keyHash);
  if (session !== null && session.accountId !== accountId) {
    throw refused('The API key and the session cookie are of different accounts: send one of them.');
  }
  return { accountId, keyHash };
}

/**
 * Reads the session cookie, the only credential that session endpoints accept.
 * @throws ServiceError invalid_api_key
 */
export async function identifySession(ctx: Context): Promise<Caller> {
  const token = ctx.cookies.get(SESSION_COOKIE) || undefined;
  if (token === undefined) throw refused('Sign in first: this takes the session cookie, not an API key.');
  return sessionCaller(ctx, token);
}

/**
 * Checks that a caller's key is valid at this moment, where `identify` has left that open.
 * @throws ServiceError invalid_api_key
 */
export async function verify(caller: Caller): Promise<void> {
  if (caller.keyHash === null) return;
  if ((await findKeyOwner(caller.keyHash)) === caller.accountId) return;
  forgetKey(caller.keyHash);
  throw unknownKey();
}

/** Drops a key from the cache once it is revoked: from then on it is verified before anything is counted. */
export function forgetKey(keyHash: Buffer | null | undefined): void {
  if (keyHash != null) ownerOfKey().delete(keyHash.toString('base64'));
}

/**
 * Finds out who looks at a page; where the cookie is missing or worth nothing, nobody in particular. Forms are not
 * asked for their origin here: `requireOwnForm` asks for more.
 */
export async function recognise(ctx: Context): Promise<void> {
  const token = ctx.cookies.get(SESSION_COOKIE) || undefined;
  const accountId = token === undefined ? undefined : await sessionOwner(ctx, token);
  if (accountId === undefined) return;
  ctx.state.caller = { accountId, keyHash: null };
  ctx.state.sessionToken = token;
}

/** Notes the use of what the request came with in `last_used_at`, now and then, without holding the request up. */
export function touch(ctx: Context): void {
  const { caller, sessionToken } = ctx.state;
  if (sessionToken !== undefined) noteSession(sessionToken);
  if (caller !== undefined && caller.keyHash !== null) noteKey(caller.keyHash);
}

/** When this process last noted the use of a session, by its hash. */
const sessionTouchedAt = perService(() => new LRUCache<string, number>({ max: 50_000 }));

function noteSession(token: string): void {
  const hash = sha256(token);
  const name = hash.toString('base64');
  const at = performance.now();
  if (at - (sessionTouchedAt().get(name) ?? -SESSION_TOUCH_MS) < SESSION_TOUCH_MS) return;
  sessionTouchedAt().set(name, at);
  touchSession(hash).catch(() => sessionTouchedAt().delete(name));
}

function noteKey(keyHash: Buffer): void {
  const known = ownerOfKey().get(keyHash.toString('base64'));
  const at = performance.now();
  if (known === undefined || at - known.touchedAt < API_KEY_TOUCH_MS) return;
  known.touchedAt = at;
  touchApiKey(keyHash).catch(() => {
    known.touchedAt = -API_KEY_TOUCH_MS;
  });
}

async function accountOfKey(keyHash: Buffer): Promise<number> {
  const name = keyHash.toString('base64');
  const known = ownerOfKey().get(name);
  if (known !== undefined) return known.accountId;
  const accountId = await findKeyOwner(keyHash);
  if (accountId === undefined) throw unknownKey();
  ownerOfKey().set(name, { accountId, touchedAt: -API_KEY_TOUCH_MS });
  return accountId;
}

async function sessionCaller(ctx: Context, token: string): Promise<Caller> {
  const accountId = await sessionOwner(ctx, token);
  if (accountId === undefined) throw refused('The session is over: sign in again.');
  requireOwnOrigin(ctx);
  ctx.state.sessionToken = token;
  return { accountId, keyHash: null };
}

/**
 * Finds the account of a session cookie. A cookie that this process has not seen valid costs a query, so an address over
 * its limit is refused first.
 * @throws ServiceError rate_limited
 */
async function sessionOwner(ctx: Context, token: string): Promise<number | undefined> {
  if (!isSessionToken(token)) return undefined;
  const name = sha256(token).toString('base64');
  if (!sessionTouchedAt().has(name)) await requireAddressWithinLimit(ctx);
  const accountId = await findSessionOwner(token);
  if (accountId === undefined) sessionTouchedAt().delete(name);
  return accountId;
}

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

/** A cookie travels with requests that other sites cause: it counts for changes only where the page was ours. */
function requireOwnOrigin(ctx: Context): void {
  if (SAFE_METHODS.has(ctx.method) || ctx.get('origin') === ownOrigin()) return;
  throw refused(`With the session cookie, changes must come with "Origin: ${ownOrigin()}".`);
}

/** The hash of the API key in the headers, or null where there is none. */
function presentedKey(ctx: Context): Buffer | null {
  const authorization = ctx.get('authorization');
  const inHeader = ctx.get('x-api-key');
  const bearer = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
  if (authorization !== '' && bearer === undefined) throw refused('Write the header as "Authorization: Bearer svc_…".');
  if (bearer !== undefined && inHeader !== '' && bearer !== inHeader) {
    throw refused('The Authorization and X-API-Key headers carry different keys: send one of them.');
  }
  const key = bearer ?? inHeader;
  if (key === '') return null;
  const hash = hashApiKey(key);
  if (hash === null) throw refused('An API key is "svc_" followed by 40 hex characters.');
  return hash;
}

function unknownKey(): ServiceError {
  return refused('The API key is unknown or revoked.');
}

function refused(detail: string): ServiceError {
  return new ServiceError('invalid_api_key', detail, { headers: { 'www-authenticate': 'Bearer' } });
}
