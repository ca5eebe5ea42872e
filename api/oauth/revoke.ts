import { InvalidAccessTokenError, verifyAccessToken } from '../../shared/domain/oauth/accessTokens.ts';
import { isKnownClient } from '../../shared/domain/oauth/clients.ts';
import { type RevokedGrant, revokeGrant } from '../../shared/domain/oauth/grants.ts';
import { revokeRefreshToken } from '../../shared/domain/oauth/refreshTokens.ts';
import { OAuthError } from '../../shared/spec/oauth.ts';
import { audit } from '../pipeline/auditLog.ts';
import { readFormParameters, withOAuthErrors, requireParameter } from './parameters.ts';
import { requirePublicClient } from './token.ts';

/**
 * `/revoke` (RFC 7009): a client gives its access up. Either kind of token ends the whole grant, and one that is
 * unknown or over is as good as revoked.
 */
export const revoke = withOAuthErrors(async (ctx) => {
  const parameters = await readFormParameters(ctx);
  requirePublicClient(ctx, parameters);
  const clientId = requireParameter(parameters, 'client_id');
  const text = requireParameter(parameters, 'token');
  if (!(await isKnownClient(clientId))) throw new OAuthError('invalid_client', 'The client is not registered here.');
  const ended = await (text.includes('.') ? revokeAccessToken : revokeRefreshToken)(text, clientId);
  // Nothing is recorded for a token that ended nothing: anyone can send one.
  if (ended !== undefined) await audit(ctx, 'grant_ended', ended.accountId, { grant: ended.uuid, client: clientId });
  ctx.status = 200;
  ctx.body = '';
});

async function revokeAccessToken(text: string, clientId: string): Promise<RevokedGrant | undefined> {
  const token = await verifyAccessToken(text).catch((error: unknown) => {
    if (error instanceof InvalidAccessTokenError) return null;
    throw error;
  });
  if (token === null) return undefined;
  if (token.clientId !== clientId) throw new OAuthError('invalid_grant', 'The token is of another client.');
  return revokeGrant(token.grantUuid);
}
