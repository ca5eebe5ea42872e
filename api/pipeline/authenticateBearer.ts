import { LRUCache } from 'lru-cache';
import type { Caller } from '../../shared/domain/accounts/accounts.ts';
import { findApiKeyOwner, hashApiKey, recordApiKeyLastUsed } from '../../shared/domain/accounts/apiKeys.ts';
import { InvalidAccessTokenError, verifyAccessToken } from '../../shared/domain/oauth/accessTokens.ts';
import { findGrantAccount, recordGrantUse } from '../../shared/domain/oauth/grants.ts';
import { config } from '../../shared/lib/config.ts';
import { perService } from '../../shared/lib/serviceScope.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import { API_KEY_LAST_USED_INTERVAL_MS } from '../../shared/spec/limits.ts';
import { ALL_SCOPES, type Scope } from '../../shared/spec/oauth.ts';
import type { Context } from '../context.ts';

/** Whoever asks on behalf of an account over MCP: with a token that has some scopes, or with a key that has all. */
export interface Principal extends Caller {
  scopes: ReadonlySet<Scope>;
  credential: 'key' | 'token';
}

/** The parameter of `WWW-Authenticate` that a client starts its authorization from. */
const resourceMetadata = () => `resource_metadata="${config.BASE_URL}/.well-known/oauth-protected-resource"`;
const ALL_SCOPES_SET: ReadonlySet<Scope> = new Set(ALL_SCOPES);

/**
 * Reads the request's credential, an OAuth access token or an API key, and asks the database whether it is good at
 * this moment: a key that was revoked or an application that was ended is turned away at once.
 * @throws ServiceError invalid_api_key, with the `WWW-Authenticate` that a client begins its authorization by.
 */
export async function authenticateBearer(ctx: Context): Promise<Principal> {
  const presented = readCredential(ctx);
  return presented.startsWith('svc_') ? authenticateApiKey(presented) : authenticateAccessToken(presented);
}

/**
 * Lets only those through whose token has a scope.
 * @throws ServiceError invalid_api_key, with status 403 and the scopes that a token needs to have.
 */
export function requireScope({ scopes }: Principal, scope: Scope): void {
  if (scopes.has(scope)) return;
  // What it has already is named too, so that a client that asks anew does not lose it.
  const wanted = ALL_SCOPES.filter((name) => name === scope || scopes.has(name)).join(' ');
  throw new ServiceError('invalid_api_key', `The access token lacks the scope ${scope}: connect again and allow it.`, {
    status: 403,
    headers: { 'www-authenticate': `Bearer error="insufficient_scope", scope="${wanted}", ${resourceMetadata()}` },
  });
}

/** The text of the one credential that the request carries. */
function readCredential(ctx: Context): string {
  const authorization = ctx.get('authorization');
  const inHeader = ctx.get('x-api-key');
  if (authorization === '' && inHeader === '') {
    throw new ServiceError(
      'invalid_api_key',
      'Connect by OAuth, or send an API key as "Authorization: Bearer svc_…".',
      {
        headers: { 'www-authenticate': `Bearer ${resourceMetadata()}` },
      },
    );
  }
  const bearer = /^Bearer +(\S+)$/i.exec(authorization)?.[1];
  if (authorization !== '' && bearer === undefined)
    throw invalidTokenError('Write the header as "Authorization: Bearer …".');
  if (bearer !== undefined && inHeader !== '' && bearer !== inHeader)
    throw invalidTokenError('The Authorization and X-API-Key headers carry different credentials: send one of them.');
  if (bearer === undefined && !inHeader.startsWith('svc_'))
    throw invalidTokenError('X-API-Key takes an API key, "svc_" followed by 40 hex characters.');
  return bearer ?? inHeader;
}

async function authenticateApiKey(key: string): Promise<Principal> {
  const keyHash = hashApiKey(key);
  const accountId = keyHash === null ? undefined : await findApiKeyOwner(keyHash);
  if (keyHash === null || accountId === undefined) throw invalidTokenError('The API key is unknown or revoked.');
  recordUseThrottled(keyHash.toString('base64'), () => recordApiKeyLastUsed(keyHash));
  return { accountId, keyHash, scopes: ALL_SCOPES_SET, credential: 'key' };
}

async function authenticateAccessToken(text: string): Promise<Principal> {
  const token = await verifyAccessToken(text).catch((error: unknown) => {
    throw error instanceof InvalidAccessTokenError ? invalidTokenError(error.message) : error;
  });
  const accountId = await findGrantAccount(token.grantUuid);
  if (accountId === undefined)
    throw invalidTokenError('The application was disconnected from the account: connect it again.');
  recordUseThrottled(token.grantUuid, () => recordGrantUse(token.grantUuid));
  return { accountId, keyHash: null, scopes: token.scopes, credential: 'token' };
}

/** When this process last noted the use of a key or a grant. */
const lastUseRecordedAt = perService(() => new LRUCache<string, number>({ max: 50_000 }));

/** Has a use written down, now and then, without holding the request up. */
function recordUseThrottled(name: string, write: () => Promise<void>): void {
  const at = performance.now();
  if (at - (lastUseRecordedAt().get(name) ?? -API_KEY_LAST_USED_INTERVAL_MS) < API_KEY_LAST_USED_INTERVAL_MS) return;
  lastUseRecordedAt().set(name, at);
  write().catch(() => lastUseRecordedAt().delete(name));
}

/** Of a credential that was sent, and is not good. */
function invalidTokenError(detail: string): ServiceError {
  const challenge = `Bearer ${resourceMetadata()}, error="invalid_token", scope="${ALL_SCOPES.join(' ')}"`;
  return new ServiceError('invalid_api_key', detail, { headers: { 'www-authenticate': challenge } });
}
