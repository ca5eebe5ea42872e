import { type Caller, type KeyCaller, SESSION_ENDED_DETAIL } from '../../shared/domain/accounts/accounts.ts';
import { findApiKeyOwner, hashApiKey } from '../../shared/domain/accounts/apiKeyOwners.ts';
import { findSessionOwner, isSessionToken } from '../../shared/domain/accounts/sessions.ts';
import { createLruCache } from '../../shared/lib/lruCache.ts';
import { sha256 } from '../../shared/lib/secrets.ts';
import { perService } from '../../shared/lib/serviceScope.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import type { Context } from '../context.ts';
import { authenticateAccessToken } from './authenticateToken.ts';
import { SESSION_COOKIE } from './cookies/sessionCookie.ts';
import { readHeaderCredential } from './credentials.ts';
import { evictSession, isKnownSession } from './recordLastUsed.ts';
import { serviceOrigin } from './serviceOrigin.ts';
import { requireAddressWithinRateLimit } from './rateLimit.ts';
import { isSafeOrSameOrigin } from './csrf.ts';

/**
 * Accounts and options of the keys that this process has seen valid, by the hash of the key in hexadecimal digits. Neither
 * is relied on: each request verifies that the key is valid and its options have not changed. An entry is replaced when
 * they have, and deleted when its key is revoked here or found revoked.
 */
const keyOwnerCache = perService(() => createLruCache<string, KeyCaller>(50_000));

/**
 * Authenticates a request by an API key in either header or an access token for the REST interface, the session cookie, or
 * both, which must belong to the same account. A key that this process has seen before is not verified yet: `verifyKey`
 * or the statement of the handler does that.
 * @throws ServiceError invalid_api_key
 */
export async function authenticate(ctx: Context): Promise<Caller> {
  const token = readSessionToken(ctx);
  const credential = readCredential(ctx);
  if (credential === null && token === undefined) {
    throw invalidApiKeyError('Send an API key as "Authorization: Bearer svc_…" or "X-API-Key: svc_…", or sign in.');
  }
  const session = token === undefined ? null : await authenticateSessionToken(ctx, token);
  if (credential === null) return session as Caller;
  const isToken = 'token' in credential;
  const caller = await (isToken
    ? authenticateAccessToken(credential.token, 'api')
    : (keyOwnerCache().get(credential.keyHash.toString('hex')) ?? findAndCacheKeyOwner(credential.keyHash)));
  if (session !== null && session.accountId !== caller.accountId) {
    const name = isToken ? 'access token' : 'API key';
    throw invalidApiKeyError(`The ${name} and the session cookie belong to different accounts: send one of them.`);
  }
  return caller;
}

/**
 * Authenticates a request by the session cookie, the only credential of session endpoints.
 * @throws ServiceError invalid_api_key
 */
export async function authenticateSession(ctx: Context): Promise<Caller> {
  const token = readSessionToken(ctx);
  if (token === undefined)
    throw invalidApiKeyError('Sign in first: this endpoint takes the session cookie, not an API key.');
  return authenticateSessionToken(ctx, token);
}

/**
 * Verifies that the key of an authenticated caller is valid now.
 * @returns the caller with the present options of the key.
 * @throws ServiceError invalid_api_key
 */
export async function verifyKey(caller: Caller): Promise<Caller> {
  if (caller.keyHash === null) return caller;
  try {
    return await findAndCacheKeyOwner(caller.keyHash);
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'invalid_api_key') evictKey(caller.keyHash);
    throw error;
  }
}

/**
 * Verifies once more that the session of a request is open: it may have ended while the body arrived. A page then has no
 * caller, as without the cookie.
 * @throws ServiceError invalid_api_key
 */
export async function verifySession(ctx: Context): Promise<void> {
  const { caller, isPage, sessionToken } = ctx.state;
  if (sessionToken === undefined || (await findSessionOwner(sessionToken)) === caller?.accountId) return;
  evictSession(sessionToken);
  if (!isPage) throw sessionEndedError();
  ctx.state.caller = undefined;
  ctx.state.sessionToken = undefined;
}

/** Removes a revoked key from the cache. From then on it is verified before anything is counted. */
export function evictKey(keyHash: Buffer | null | undefined): void {
  if (keyHash != null) keyOwnerCache().delete(keyHash.toString('hex'));
}

/**
 * Identifies the caller of a page, if the session cookie is valid. Does not check the origin of forms:
 * `requireCsrfToken` checks more than that.
 */
export async function authenticateOptional(ctx: Context): Promise<void> {
  const token = readSessionToken(ctx);
  const accountId = token === undefined ? undefined : await findSessionAccount(ctx, token);
  if (accountId === undefined) return;
  ctx.state.caller = buildSessionCaller(accountId, token as string);
  ctx.state.sessionToken = token;
}

async function findAndCacheKeyOwner(keyHash: Buffer): Promise<KeyCaller> {
  const owner = await findApiKeyOwner(keyHash);
  if (owner === undefined) throw unknownKeyError();
  keyOwnerCache().set(keyHash.toString('hex'), owner);
  return owner;
}

async function authenticateSessionToken(ctx: Context, token: string): Promise<Caller> {
  const accountId = await findSessionAccount(ctx, token);
  if (accountId === undefined) throw sessionEndedError();
  if (!isSafeOrSameOrigin(ctx))
    throw invalidApiKeyError(`With the session cookie, changes must come with "Origin: ${serviceOrigin()}".`);
  ctx.state.sessionToken = token;
  return buildSessionCaller(accountId, token);
}

const buildSessionCaller = (accountId: number, token: string): Caller => ({
  accountId,
  keyHash: null,
  clientId: null,
  sessionHash: sha256(token),
});

const sessionEndedError = () => invalidApiKeyError(SESSION_ENDED_DETAIL);

/**
 * Finds the account of a session cookie. A cookie that this process has not seen valid costs a query, so addresses over
 * their limit are rejected first.
 * @throws ServiceError rate_limited
 */
async function findSessionAccount(ctx: Context, token: string): Promise<number | undefined> {
  if (!isSessionToken(token)) return undefined;
  if (!isKnownSession(token)) await requireAddressWithinRateLimit(ctx);
  const accountId = await findSessionOwner(token);
  if (accountId === undefined) evictSession(token);
  return accountId;
}

function readSessionToken(ctx: Context): string | undefined {
  return ctx.cookies.get(SESSION_COOKIE) || undefined;
}

/** Form of a JWT: three parts, of which the first begins with `{"` in base64url. */
const ACCESS_TOKEN_FORMAT = /^eyJ[\w-]*\.[\w-]+\.[\w-]+$/;

/** Returns the hash of the API key in the headers, or the access token, or null if there is neither. */
function readCredential(ctx: Context): { keyHash: Buffer } | { token: string } | null {
  const credential = readHeaderCredential(ctx);
  switch (credential.kind) {
    case 'none':
      return null;
    case 'malformed':
      throw invalidApiKeyError('Write the header as "Authorization: Bearer svc_…".');
    case 'conflict':
      throw invalidApiKeyError('The Authorization and X-API-Key headers carry different keys: send one of them.');
    case 'bearer':
    case 'apiKeyHeader': {
      if (credential.kind === 'bearer' && ACCESS_TOKEN_FORMAT.test(credential.value))
        return { token: credential.value };
      const keyHash = hashApiKey(credential.value);
      if (keyHash === null) throw invalidApiKeyError('An API key is "svc_" followed by 40 hex characters.');
      return { keyHash };
    }
  }
}

function unknownKeyError(): ServiceError {
  return invalidApiKeyError('The API key is unknown or revoked.');
}

function invalidApiKeyError(detail: string): ServiceError {
  return new ServiceError('invalid_api_key', detail);
}
