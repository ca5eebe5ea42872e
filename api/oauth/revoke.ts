import { InvalidAccessToken, verifyAccessToken } from '../../shared/domain/oauth/accessTokens.ts';
import { isKnownClient } from '../../shared/domain/oauth/clients.ts';
import { type EndedGrant, revokeGrant } from '../../shared/domain/oauth/grants.ts';
import { revokeRefreshToken } from '../../shared/domain/oauth/refreshTokens.ts';
import { OAuthRefusal } from '../../shared/spec/oauth.ts';
import { audit } from '../middleware/audit.ts';
import { formParametersOf, inOAuth, required } from './parameters.ts';
import { requirePublicClient } from './token.ts';

/**
 * `/revoke` (RFC 7009): a client gives its access up. Either kind of token ends the whole grant, and one that is
 * unknown or over is as good as revoked.
 */
export const revoke = inOAuth(async (ctx) => {
  const parameters = await formParametersOf(ctx);
  requirePublicClient(ctx, parameters);
  const clientId = required(parameters, 'client_id');
  const text = required(parameters, 'token');
  if (!(await isKnownClient(clientId))) throw new OAuthRefusal('invalid_client', 'The client is not registered here.');
  const ended = await (text.includes('.') ? revokeAccessToken : revokeRefreshToken)(text, clientId);
  // Nothing is recorded for a token that ended nothing: anyone can send one.
  if (ended !== undefined) await audit(ctx, 'grant_ended', ended.accountId, { grant: ended.uuid, client: clientId });
  ctx.status = 200;
  ctx.body = '';
});

async function revokeAccessToken(text: string, clientId: string): Promise<EndedGrant | undefined> {
  const token = await verifyAccessToken(text).catch((error: unknown) => {
    if (error instanceof InvalidAccessToken) return null;
    throw error;
  });
  if (token === null) return undefined;
  if (token.clientId !== clientId) throw new OAuthRefusal('invalid_grant', 'The token is of another client.');
  return revokeGrant(token.grantUuid);
}
