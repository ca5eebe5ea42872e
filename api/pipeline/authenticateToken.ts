import { APPLICATION_DISCONNECTED_DETAIL } from '../../shared/domain/accounts/credentials.ts';
import type { Caller } from '../../shared/domain/accounts/caller.ts';
import { InvalidAccessTokenError, verifyAccessToken } from '../../shared/domain/oauth/accessTokens.ts';
import { findGrantOwner, recordGrantUse } from '../../shared/domain/oauth/grants.ts';
import { getResourceUrl, type Resource } from '../../shared/domain/oauth/resources.ts';
import { config } from '../../shared/lib/config.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import { ALL_SCOPES } from '../../shared/spec/oauth.ts';
import { ChallengeError, HttpError } from './httpError.ts';
import { recordUseThrottled } from './recordLastUsed.ts';

/**
 * Authenticates an access token. The database is queried each time, so that a disconnected application is rejected
 * immediately.
 * @param resource the only audience that is accepted.
 * @throws HttpError invalid_api_key, with the `WWW-Authenticate` header from which a client starts its authorization.
 * @throws ServiceError account_suspended
 */
export async function authenticateAccessToken(text: string, resource: Resource): Promise<Caller> {
  const token = await verifyAccessToken(text).catch((error: unknown) => {
    throw error instanceof InvalidAccessTokenError ? buildInvalidTokenError(resource, error.message) : error;
  });
  if (token.resource !== resource) {
    const detail = `The access token is not for ${getResourceUrl(resource)} but for ${getResourceUrl(token.resource)} instead.`;
    throw buildInvalidTokenError(resource, detail);
  }
  const owner = await findGrantOwner(token.grantUuid);
  if (owner === undefined) throw buildInvalidTokenError(resource, APPLICATION_DISCONNECTED_DETAIL);
  recordUseThrottled(`grant ${token.grantUuid}`, () => recordGrantUse(token.grantUuid));
  const { clientId, grantUuid, scopes } = token;
  return {
    ...owner,
    credential: { kind: 'token', grantUuid, clientId },
    restrictions: { scopes, allowedModels: null, allowedIps: null },
  };
}

/** Parameter of `WWW-Authenticate` from which a client starts its authorization (RFC 9728). */
export function describeMetadata(resource: Resource): string {
  const suffix = resource === 'mcp' ? '' : `/${resource}`;
  return `resource_metadata="${config.BASE_URL}/.well-known/oauth-protected-resource${suffix}"`;
}

/** Error for a credential that was sent and is not valid. */
function buildInvalidTokenError(resource: Resource, detail: string): ChallengeError {
  return new ChallengeError('invalid_api_key', detail, buildInvalidTokenChallenge(resource));
}

/** Challenge for a credential that was sent and is not valid. */
export function buildInvalidTokenChallenge(resource: Resource): string {
  return `Bearer ${describeMetadata(resource)}, error="invalid_token", scope="${ALL_SCOPES.join(' ')}"`;
}

/**
 * Adds the challenge to the rejection of an application that was disconnected while its request ran. Returns every
 * other error unchanged.
 */
export function addTokenChallenge(error: ServiceError, caller: Caller | undefined, resource: Resource): ServiceError {
  if (error.code !== 'invalid_api_key' || caller?.credential.kind !== 'token' || error instanceof HttpError)
    return error;
  return buildInvalidTokenError(resource, error.message);
}
