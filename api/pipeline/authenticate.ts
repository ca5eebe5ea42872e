import { recallKeyCaller, SESSION_ENDED_DETAIL, verifyApiKey } from '../../shared/domain/accounts/credentials.ts';
import { type Caller, type KeyCredential, requireMember } from '../../shared/domain/accounts/caller.ts';
import { findSessionOwner, isSessionToken, type SessionOwner } from '../../shared/domain/signIn/sessions.ts';
import { readByKey } from '../../shared/domain/generations/read.ts';
import { hasRight } from '../../shared/spec/roles.ts';
import { sha256 } from '../../shared/lib/secrets.ts';
import { isUuid } from '../../shared/lib/uuid.ts';
import type { Context } from '../context.ts';
import { authenticateAccessToken } from './authenticateToken.ts';
import { SESSION_COOKIE } from './cookies/sessionCookie.ts';
import { invalidApiKeyError, KEY_FORMAT_DETAIL, readHeaderCredential } from './credentials.ts';
import { getPathParam } from './requestParameters.ts';
import type { RoutePolicy } from './route.ts';
import { evictSession, isKnownSession } from './recordLastUsed.ts';
import { serviceOrigin } from './serviceOrigin.ts';
import { requireAddressWithinRateLimit } from './rateLimit.ts';
import { isSafeOrSameOrigin } from './csrf.ts';

/** Form of a JWT: three parts, of which the first begins with `{"` in base64url. */
const ACCESS_TOKEN_FORMAT = /^eyJ[\w-]*\.[\w-]+\.[\w-]+$/;

/**
 * Authenticates a request by an API key in either header or an access token for the REST interface, the session cookie,
 * or both, which must belong to the same account. The database is queried each time, so that a revocation takes effect
 * immediately, or the handler verifies the key: an error of any other kind is given once the key was read.
 * @throws ServiceError invalid_api_key, account_suspended
 */
export async function authenticate(ctx: Context, policy: RoutePolicy): Promise<Caller> {
  const token = readSessionToken(ctx);
  const credential = readHeaderCredential(ctx);
  if (credential === undefined && token === undefined) {
    throw invalidApiKeyError('Send an API key as "Authorization: Bearer svc_…" or "X-API-Key: svc_…", or sign in.');
  }
  const session = token === undefined ? null : await authenticateSessionToken(ctx, token);
  if (credential === undefined) return session as Caller;
  const isToken = credential.kind === 'token';
  if (isToken && !ACCESS_TOKEN_FORMAT.test(credential.token)) throw invalidApiKeyError(KEY_FORMAT_DETAIL);
  const caller = isToken
    ? await authenticateAccessToken(credential.token, 'api')
    : await authenticateKey(ctx, credential, policy);
  if (session !== null && session.accountId !== caller.accountId) {
    const name = isToken ? 'access token' : 'API key';
    throw invalidApiKeyError(`The ${name} and the session cookie belong to different accounts: send one of them.`);
  }
  return caller;
}

async function authenticateKey(ctx: Context, key: KeyCredential, policy: RoutePolicy): Promise<Caller> {
  const uuid = getPathParam(ctx, 'uuid');
  if (policy.readsGeneration === true && isUuid(uuid)) {
    const { caller, generation } = await readByKey(key, uuid);
    ctx.state.generation = generation;
    return caller;
  }
  const isFirst = ctx.state.caller === undefined;
  const recalled = policy.verifiesKey === true && isFirst ? recallKeyCaller(key) : undefined;
  // The role of its member may have changed since, too.
  const mayUse = (caller: Caller) => policy.needs === undefined || hasRight(requireMember(caller).role, policy.needs);
  if (recalled === undefined || recalled.restrictions !== undefined || !mayUse(recalled)) {
    ctx.state.isKeyRecalled = false;
    return verifyApiKey(key);
  }
  ctx.state.isKeyRecalled = true;
  return recalled;
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
 * Identifies the caller of a page, if the session cookie is valid. Does not check the origin of forms:
 * `requireCsrfToken` checks more than that.
 */
export async function authenticateOptional(ctx: Context): Promise<void> {
  const token = readSessionToken(ctx);
  const owner = token === undefined ? undefined : await findKnownSession(ctx, token);
  ctx.state.caller = owner === undefined ? undefined : buildSessionCaller(owner, token as string);
  ctx.state.sessionToken = owner === undefined ? undefined : token;
}

async function authenticateSessionToken(ctx: Context, token: string): Promise<Caller> {
  const owner = await findKnownSession(ctx, token);
  if (owner === undefined) throw invalidApiKeyError(SESSION_ENDED_DETAIL);
  if (!isSafeOrSameOrigin(ctx))
    throw invalidApiKeyError(`With the session cookie, changes must come with "Origin: ${serviceOrigin()}".`);
  ctx.state.sessionToken = token;
  return buildSessionCaller(owner, token);
}

const buildSessionCaller = (owner: SessionOwner, token: string): Caller => ({
  ...owner,
  credential: { kind: 'session', hash: sha256(token) },
});

/**
 * Finds for whom a session cookie acts. A cookie that this process has not seen valid costs a query, so addresses over
 * their limit are rejected first.
 * @throws ServiceError rate_limited
 */
async function findKnownSession(ctx: Context, token: string): Promise<SessionOwner | undefined> {
  if (!isSessionToken(token)) return undefined;
  if (!isKnownSession(token)) await requireAddressWithinRateLimit(ctx);
  const owner = await findSessionOwner(token);
  if (owner === undefined) evictSession(token);
  return owner;
}

function readSessionToken(ctx: Context): string | undefined {
  return ctx.cookies.get(SESSION_COOKIE) || undefined;
}
