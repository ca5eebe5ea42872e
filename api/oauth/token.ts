import OAuth2Server from '@node-oauth/oauth2-server';
import { issueAccessToken } from '../../shared/domain/oauth/accessTokens.ts';
import { isKnownClient } from '../../shared/domain/oauth/clients.ts';
import { exchangeCode } from '../../shared/domain/oauth/authorizationCodes.ts';
import { type IssuedGrant, rotateRefreshToken } from '../../shared/domain/oauth/refreshTokens.ts';
import { findResource } from '../../shared/domain/oauth/resources.ts';
import { ACCESS_TOKEN_SECONDS } from '../../shared/spec/limits.ts';
import { OAuthError, type OAuthErrorCode, parseScopes, type Scope } from '../../shared/spec/oauth.ts';
import type { Context } from '../context.ts';
import { type OAuthParameters, readFormParameters, requireParameter, withOAuthErrors } from './parameters.ts';
import { sha256 } from '../../shared/lib/secrets.ts';
import { findTokenGrant } from '../../shared/domain/oauth/grants.ts';
import { consumeRateLimit } from '../pipeline/rateLimit.ts';

/** The model without saving codes: `/authorize` issues them without the library. */
type OAuthModel = Omit<OAuth2Server.AuthorizationCodeModel, 'saveAuthorizationCode'> & OAuth2Server.RefreshTokenModel;

const GRANT_TYPES = ['authorization_code', 'refresh_token'];

/** `POST /token`: exchanges a code or a refresh token for tokens (RFC 6749, 4.1.3 and 6). */
export const token = withOAuthErrors(async (ctx) => {
  const parameters = await readFormParameters(ctx);
  const presented = parameters['code'] ?? parameters['refresh_token'];
  await consumeRateLimit(ctx, 'oauth', { grant: presented === undefined ? null : await findTokenGrant(presented) });
  // The library would return invalid_client if client_id is missing, or grant_type is missing or another.
  if (!GRANT_TYPES.includes(requireParameter(parameters, 'grant_type')))
    throw new OAuthError('unsupported_grant_type', `grant_type must be ${GRANT_TYPES.join(' or ')}.`);
  requirePublicClient(ctx, parameters);
  const clientId = requireParameter(parameters, 'client_id');
  ctx.set('pragma', 'no-cache');
  const server = new OAuth2Server({
    model: createOAuthModel(clientId, parameters),
    requireClientAuthentication: { authorization_code: false, refresh_token: false },
  });
  const headers = ctx.headers as Record<string, string>;
  const request = new OAuth2Server.Request({ method: ctx.method, headers, query: {}, body: parameters });
  const response = new OAuth2Server.Response();
  await server.token(request, response).catch((error: Error) => rejectRequest(error, clientId));
  // The library returns the seconds that remain: 3599 if a millisecond has passed.
  ctx.body = { ...response.body, expires_in: ACCESS_TOKEN_SECONDS };
});

/**
 * Builds the model that the library calls during one request. The call that reads the code or refresh token performs
 * the whole exchange in one statement (docs/adr/0014-oauth-server-library.md). The library passes the grant that was
 * issued to the other calls, as the `user`.
 */
function createOAuthModel(clientId: string, parameters: OAuthParameters): OAuthModel {
  const client: OAuth2Server.Client = { id: clientId, grants: GRANT_TYPES };
  const resource = findResource(parameters['resource'] ?? '');
  return {
    getClient: async () => client,
    getAuthorizationCode: async (code) => {
      const codeChallenge = computeCodeChallenge(parameters);
      const redirectUri = parameters['redirect_uri'];
      const issued = await exchangeCode({ code, clientId, codeChallenge, redirectUri, resource });
      return {
        authorizationCode: code,
        codeChallenge: issued.codeChallenge,
        codeChallengeMethod: 'S256',
        expiresAt: issued.expiresAt,
        scope: issued.scopes,
        client,
        user: issued,
        // Empty: the statement has compared it. The library would require it, and return invalid_request.
        redirectUri: '',
      };
    },
    getRefreshToken: async (text) => {
      const scopes = parseScopes(parameters['scope'] ?? '');
      const issued = await rotateRefreshToken(text, { clientId, scopes, resource });
      return { refreshToken: text, scope: issued.scopes, client, user: issued };
    },
    // The statement that found the code or token has already marked it as used.
    revokeAuthorizationCode: async () => true,
    revokeToken: async () => true,
    generateAccessToken: async (_client, issued, scope) =>
      issueAccessToken({ ...(issued as IssuedGrant), clientId, scopes: new Set(scope as Scope[]) }),
    generateRefreshToken: async (_client, issued) => (issued as IssuedGrant).refreshToken,
    saveToken: async (saved, _client, user) => ({ ...saved, client, user }),
    getAccessToken: async () => undefined,
  };
}

/**
 * Converts an error of the library, or unwraps one that the model threw. A grant implies that its client exists, so the
 * client is queried only after invalid_grant. An unknown one gets invalid_client, so that it registers again.
 */
async function rejectRequest(thrown: Error & { inner?: unknown }, clientId: string): Promise<never> {
  const error = thrown.inner instanceof Error ? thrown.inner : toOAuthError(thrown);
  const isGrant = error instanceof OAuthError && error.code === 'invalid_grant';
  if (isGrant && !(await isKnownClient(clientId)))
    throw new OAuthError(
      'invalid_client',
      'client_id is not registered, or its registration has expired: register again.',
    );
  throw error;
}

/** Converts a rejection by the library; its other errors are failures of this service. */
function toOAuthError(error: Error): Error {
  const isRejection = error instanceof OAuth2Server.OAuthError && error.code < 500;
  if (!isRejection) return error;
  return new OAuthError(error.name as OAuthErrorCode, `${error.message.replaceAll(/[`"\\]/g, '')}.`);
}

/** RFC 7636: 43 to 128 unreserved characters. */
const CODE_VERIFIER_PATTERN = /^[A-Za-z0-9._~-]{43,128}$/;

/** Hashes the verifier. @throws OAuthError if it is missing or malformed; the code remains unused. */
function computeCodeChallenge(parameters: OAuthParameters): string {
  const verifier = requireParameter(parameters, 'code_verifier');
  if (CODE_VERIFIER_PATTERN.test(verifier)) return sha256(verifier).toString('base64url');
  throw new OAuthError('invalid_request', 'code_verifier must have 43 to 128 characters out of A-Z a-z 0-9 - . _ ~');
}

/**
 * Rejects client authentication by other means than a secret in the form, which some clients send although they have
 * received none: all clients are public, and it is ignored.
 */
export function requirePublicClient(ctx: Context, parameters: OAuthParameters): void {
  const isBasic = ctx.get('authorization') !== '';
  if (!isBasic && parameters['client_assertion'] === undefined) return;
  throw new OAuthError('invalid_client', 'Clients are public: send client_id in the form and no secret.', {
    headers: isBasic ? { 'www-authenticate': 'Basic realm="token"' } : undefined,
  });
}
