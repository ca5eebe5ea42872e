import OAuth2Server from '@node-oauth/oauth2-server';
import { issueAccessToken } from '../../shared/domain/oauth/accessTokens.ts';
import { isKnownClient } from '../../shared/domain/oauth/clients.ts';
import { exchangeCode } from '../../shared/domain/oauth/authorizationCodes.ts';
import { type IssuedGrant, rotateRefreshToken } from '../../shared/domain/oauth/refreshTokens.ts';
import { findResource } from '../../shared/domain/oauth/resources.ts';
import { ACCESS_TOKEN_SECONDS, REFRESH_TOKEN_DAYS } from '../../shared/spec/limits.ts';
import { OAuthError, parseScopes, type Scope } from '../../shared/spec/oauth.ts';
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
  if (!GRANT_TYPES.includes(requireParameter(parameters, 'grant_type')))
    throw new OAuthError('unsupported_grant_type', `grant_type must be ${GRANT_TYPES.join(' or ')}.`);
  requirePublicClient(ctx, parameters);
  requireParameter(parameters, 'client_id');
  ctx.set('pragma', 'no-cache');
  ctx.body = await issueTokens(ctx, parameters);
});

/** Runs the library and returns the token response of the RFC. */
async function issueTokens(ctx: Context, parameters: OAuthParameters): Promise<object> {
  const request = new OAuth2Server.Request({
    method: ctx.method,
    headers: { 'content-type': 'application/x-www-form-urlencoded', 'content-length': '1' },
    query: {},
    body: parameters,
  });
  const server = new OAuth2Server({
    model: createOAuthModel(parameters),
    accessTokenLifetime: ACCESS_TOKEN_SECONDS,
    refreshTokenLifetime: REFRESH_TOKEN_DAYS * 86_400,
    requireClientAuthentication: { authorization_code: false, refresh_token: false },
  });
  const issued = await server.token(request, new OAuth2Server.Response()).catch(toOAuthError);
  return {
    access_token: issued.accessToken,
    token_type: 'Bearer',
    expires_in: ACCESS_TOKEN_SECONDS,
    refresh_token: issued.refreshToken,
    scope: issued.scope?.join(' '),
  };
}

/**
 * Builds the model that the library calls during one request. The first call that needs the database performs the whole
 * exchange in one statement; the others return parts of its result. A grant implies that its client exists, so the
 * client is queried only after a failure.
 */
function createOAuthModel(parameters: OAuthParameters): OAuthModel {
  const clientId = requireParameter(parameters, 'client_id');
  const client: OAuth2Server.Client = { id: clientId, grants: GRANT_TYPES };
  const resource = parameters['resource'] === undefined ? undefined : findResource(parameters['resource']);
  let issued: IssuedGrant | undefined;

  const grant = (): IssuedGrant => {
    if (issued === undefined) throw new Error('The library requested tokens before it read the code or refresh token.');
    return issued;
  };
  return {
    getClient: async () => client,
    getAuthorizationCode: async (code) => {
      const exchange = {
        code,
        clientId,
        codeChallenge: computeCodeChallenge(parameters),
        redirectUri: parameters['redirect_uri'],
        resource,
      };
      const exchanged = await exchangeCode(exchange).catch(rejectUnknownClient(clientId));
      issued = exchanged;
      const { codeChallenge, expiresAt, scopes, accountUuid } = exchanged;
      return {
        authorizationCode: code,
        codeChallenge,
        codeChallengeMethod: 'S256',
        expiresAt,
        scope: scopes,
        client,
        user: { accountUuid },
        // Empty: the statement has already compared it.
        redirectUri: '',
      };
    },
    getRefreshToken: async (text) => {
      const scopes = parameters['scope'] === undefined ? [] : parseScopes(parameters['scope']);
      issued = await rotateRefreshToken(text, { clientId, scopes, resource }).catch(rejectUnknownClient(clientId));
      return { refreshToken: text, scope: issued.scopes, client, user: { accountUuid: issued.accountUuid } };
    },
    // The statement that found the code or token has already marked it as used.
    revokeAuthorizationCode: async () => true,
    revokeToken: async () => true,
    validateScope: async (_user, _client, scope) => scope,
    generateAccessToken: async (_client, _user, scope) =>
      issueAccessToken({ ...grant(), clientId, scopes: new Set(scope as Scope[]) }),
    generateRefreshToken: async () => grant().refreshToken,
    saveToken: async (saved, _client, user) => ({ ...saved, client, user }),
    getAccessToken: async () => undefined,
  };
}

/** Replaces invalid_grant with invalid_client if the client is unknown, so that it registers again. */
function rejectUnknownClient(clientId: string): (error: unknown) => Promise<never> {
  return async (error) => {
    const isGrant = error instanceof OAuthError && error.code === 'invalid_grant';
    if (isGrant && !(await isKnownClient(clientId)))
      throw new OAuthError(
        'invalid_client',
        'client_id is not registered, or its registration has expired: register again.',
      );
    throw error;
  };
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

const LIBRARY_ERROR_CODES = [
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'invalid_scope',
  'unauthorized_client',
] as const;

/** Converts errors of the library, and unwraps errors that the model threw. */
function toOAuthError(error: Error & { inner?: unknown }): never {
  if (error.inner instanceof Error) throw error.inner;
  const code = LIBRARY_ERROR_CODES.find((known) => known === error.name);
  throw code === undefined ? error : new OAuthError(code, `${error.message.replaceAll(/[`"\\]/g, '')}.`);
}
