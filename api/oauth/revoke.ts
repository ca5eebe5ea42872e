import {
  type AccessToken,
  InvalidAccessTokenError,
  verifyAccessToken,
} from '../../shared/domain/oauth/accessTokens.ts';
import { isKnownClient } from '../../shared/domain/oauth/clients.ts';
import { findTokenGrant, revokeGrant } from '../../shared/domain/oauth/grants.ts';
import { revokeRefreshToken } from '../../shared/domain/oauth/refreshTokens.ts';
import { OAuthError } from '../../shared/spec/oauth.ts';
import { consumeRateLimit } from '../pipeline/rateLimit.ts';
import { getRequestOrigin } from '../pipeline/requestOrigin.ts';
import type { RequestOrigin } from '../../shared/domain/accounts/securityEvents.ts';
import { readFormParameters, withOAuthErrors, requireParameter } from './parameters.ts';
import { requirePublicClient } from './token.ts';

/**
 * `POST /revoke` (RFC 7009): revokes the grant of an access or refresh token, with all its tokens. An unknown or
 * expired token is a success, too.
 */
export const revoke = withOAuthErrors(async (ctx) => {
  const parameters = await readFormParameters(ctx);
  requirePublicClient(ctx, parameters);
  const clientId = requireParameter(parameters, 'client_id');
  const text = requireParameter(parameters, 'token');
  const token = text.includes('.') ? await readAccessToken(text) : null;
  await consumeRateLimit(ctx, 'oauth', { grant: token?.grantUuid ?? (await findTokenGrant(text)) });
  if (!(await isKnownClient(clientId))) throw new OAuthError('invalid_client', 'client_id is not registered here.');
  const origin = getRequestOrigin(ctx);
  await (token === null ? revokeRefreshToken(text, clientId, origin) : revokeAccessToken(token, clientId, origin));
  ctx.status = 200;
  ctx.body = '';
});

/** @returns null if the token is invalid or has expired. */
async function readAccessToken(text: string): Promise<AccessToken | null> {
  return verifyAccessToken(text).catch((error: unknown) => {
    if (error instanceof InvalidAccessTokenError) return null;
    throw error;
  });
}

async function revokeAccessToken(
  { clientId: owner, grantUuid }: AccessToken,
  clientId: string,
  origin: RequestOrigin,
): Promise<void> {
  if (owner !== clientId) throw new OAuthError('invalid_grant', 'The token belongs to another client.');
  await revokeGrant(grantUuid, 'application', origin);
}
