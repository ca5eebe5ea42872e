import { UNKNOWN_KEY_DETAIL } from '../../shared/domain/accounts/accounts.ts';
import type { Caller } from '../../shared/domain/accounts/caller.ts';
import { findApiKeyOwner, hashApiKey } from '../../shared/domain/accounts/apiKeyOwners.ts';
import { getScopes, requireAccess, requireAllowedAddress } from '../../shared/domain/accounts/restrictions.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import type { Scope } from '../../shared/spec/oauth.ts';
import type { Context } from '../context.ts';
import {
  authenticateAccessToken,
  buildInvalidTokenChallenge,
  buildInvalidTokenError,
  buildScopeChallenge,
  describeMetadata,
} from './authenticateToken.ts';
import { readHeaderCredential } from './credentials.ts';
import { ChallengeError, HttpError } from './httpError.ts';
import { recordKeyUse } from './recordLastUsed.ts';

/**
 * Authenticates a request by its OAuth access token or API key. The database is queried each time, so that a revoked key or
 * a disconnected application is rejected immediately.
 * @throws HttpError invalid_api_key, with the `WWW-Authenticate` header from which a client starts its authorization.
 * @throws ServiceError insufficient_scope if an API key may not be used from the address of the client.
 */
export async function authenticateBearer(ctx: Context): Promise<Caller> {
  const presented = readCredential(ctx);
  if (presented.startsWith('svc_')) return authenticateApiKey(presented, ctx.ip);
  return authenticateAccessToken(presented, 'mcp');
}

/**
 * Requires a scope of the access token or the API key.
 * @throws HttpError invalid_api_key, 403, with the scopes to request.
 * @throws ServiceError insufficient_scope for an API key, to which no scopes can be added by connecting again.
 */
export function requireScope(caller: Caller, scope: Scope): void {
  const scopes = getScopes(caller);
  if (scopes.has(scope)) return;
  if (caller.credential.kind === 'key') requireAccess(caller, scope);
  const detail = `The access token lacks the scope ${scope}: connect again and allow it.`;
  throw new ChallengeError('invalid_api_key', detail, buildScopeChallenge('mcp', scopes, scope), 403);
}

/** Reads the single credential of a request. */
function readCredential(ctx: Context): string {
  const credential = readHeaderCredential(ctx);
  switch (credential.kind) {
    case 'none':
      throw new ChallengeError(
        'invalid_api_key',
        'Connect by OAuth, or send an API key as "Authorization: Bearer svc_…".',
        `Bearer ${describeMetadata('mcp')}`,
      );
    case 'malformed':
      throw invalidTokenError('Write the header as "Authorization: Bearer …".');
    case 'conflict':
      throw invalidTokenError('The Authorization and X-API-Key headers carry different credentials: send one of them.');
    case 'apiKeyHeader':
      if (credential.value.startsWith('svc_')) return credential.value;
      throw invalidTokenError('X-API-Key takes an API key, "svc_" followed by 40 hex characters.');
    case 'bearer':
      return credential.value;
  }
}

async function authenticateApiKey(key: string, address: string): Promise<Caller> {
  const hash = hashApiKey(key);
  if (hash === null) throw invalidKeyError(UNKNOWN_KEY_DETAIL);
  const caller = await findApiKeyOwner({ kind: 'key', hash, address }).catch(withChallenge);
  requireAllowedAddress(caller);
  recordKeyUse(caller);
  return caller;
}

/** Adds the challenge to the error for a key that is not valid. */
function withChallenge(error: unknown): never {
  throw error instanceof ServiceError && error.code === 'invalid_api_key' ? invalidKeyError(error.message) : error;
}

/**
 * Error for an API key that is not valid. Unlike that for a token, it is replaced by a 429 above the limit of the
 * address.
 */
function invalidKeyError(detail: string): HttpError {
  return new HttpError('invalid_api_key', detail, {
    headers: { 'www-authenticate': buildInvalidTokenChallenge('mcp') },
  });
}

/** Error for a credential that is not an API key. */
function invalidTokenError(detail: string): ChallengeError {
  return buildInvalidTokenError('mcp', detail);
}
