import { createHash } from 'node:crypto';
import OAuth2Server from '@node-oauth/oauth2-server';
import { issueAccessToken } from '../../shared/domain/oauth/accessTokens.ts';
import { isKnownClient } from '../../shared/domain/oauth/clients.ts';
import { exchangeCode } from '../../shared/domain/oauth/codes.ts';
import { type IssuedGrant, refreshGrant } from '../../shared/domain/oauth/refreshTokens.ts';
import { ACCESS_TOKEN_SECONDS, REFRESH_TOKEN_DAYS } from '../../shared/spec/limits.ts';
import { OAuthRefusal, parseScopes, type Scope } from '../../shared/spec/oauth.ts';
import type { Context } from '../context.ts';
import { formParametersOf, inOAuth, type Parameters, required } from './parameters.ts';

/** Codes are made by `/authorize`, which is ours alone. */
type Model = Omit<OAuth2Server.AuthorizationCodeModel, 'saveAuthorizationCode'> & OAuth2Server.RefreshTokenModel;

const GRANT_TYPES = ['authorization_code', 'refresh_token'];

/** `/token`: a code or a refresh token for tokens (RFC 6749, 4.1.3 and 6). */
export const token = inOAuth(async (ctx) => {
  const parameters = await formParametersOf(ctx);
  if (!GRANT_TYPES.includes(required(parameters, 'grant_type')))
    throw new OAuthRefusal('unsupported_grant_type', `grant_type must be ${GRANT_TYPES.join(' or ')}.`);
  requirePublicClient(ctx, parameters);
  required(parameters, 'client_id');
  ctx.set('pragma', 'no-cache');
  ctx.body = await tokensFor(ctx, parameters);
});

/** What the library answers, in the words of the RFC. */
async function tokensFor(ctx: Context, parameters: Parameters): Promise<object> {
  const request = new OAuth2Server.Request({
    method: ctx.method,
    headers: { 'content-type': 'application/x-www-form-urlencoded', 'content-length': '1' },
    query: {},
    body: parameters,
  });
  const server = new OAuth2Server({
    model: modelFor(parameters),
    accessTokenLifetime: ACCESS_TOKEN_SECONDS,
    refreshTokenLifetime: REFRESH_TOKEN_DAYS * 86_400,
    requireClientAuthentication: { authorization_code: false, refresh_token: false },
  });
  const issued = await server.token(request, new OAuth2Server.Response()).catch(asRefusal);
  return {
    access_token: issued.accessToken,
    token_type: 'Bearer',
    expires_in: ACCESS_TOKEN_SECONDS,
    refresh_token: issued.refreshToken,
    scope: issued.scope?.join(' '),
  };
}

/**
 * What the library asks for during one request. It asks for pieces, one after the other; the database is asked once,
 * by the first question that needs it, and either does all of an exchange or nothing. That the client exists follows
 * from its grant, so that only a failure has to look.
 */
function modelFor(parameters: Parameters): Model {
  const clientId = required(parameters, 'client_id');
  const client: OAuth2Server.Client = { id: clientId, grants: GRANT_TYPES };
  let issued: IssuedGrant | undefined;

  const grant = (): IssuedGrant => {
    if (issued === undefined) throw new Error('The library asked for tokens before it asked what for.');
    return issued;
  };
  return {
    getClient: async () => client,
    getAuthorizationCode: async (code) => {
      const exchange = {
        code,
        clientId,
        codeChallenge: challengeOf(parameters),
        redirectUri: parameters['redirect_uri'],
      };
      const exchanged = await exchangeCode(exchange).catch(unlessUnknown(clientId));
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
        // The statement has compared it, where it was sent.
        redirectUri: '',
      };
    },
    getRefreshToken: async (text) => {
      const scopes = parameters['scope'] === undefined ? [] : parseScopes(parameters['scope']);
      issued = await refreshGrant(text, clientId, scopes).catch(unlessUnknown(clientId));
      return { refreshToken: text, scope: issued.scopes, client, user: { accountUuid: issued.accountUuid } };
    },
    // Both were used up by the statement that found them.
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

/** A grant that is refused to a client that there is none of: that is what the client needs to know. */
function unlessUnknown(clientId: string): (error: unknown) => Promise<never> {
  return async (error) => {
    const isGrant = error instanceof OAuthRefusal && error.code === 'invalid_grant';
    if (isGrant && !(await isKnownClient(clientId)))
      throw new OAuthRefusal('invalid_client', 'The client is not registered here, or no longer: register again.');
    throw error;
  };
}

/** RFC 7636: 43 to 128 unreserved characters. */
const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/;

/** @throws OAuthRefusal where there is no verifier that could be one: the code stays as it is. */
function challengeOf(parameters: Parameters): string {
  const verifier = required(parameters, 'code_verifier');
  if (VERIFIER.test(verifier)) return createHash('sha256').update(verifier).digest('base64url');
  throw new OAuthRefusal('invalid_request', 'code_verifier must have 43 to 128 characters out of A-Z a-z 0-9 - . _ ~');
}

/** Clients have no secrets here: one that is sent was made out by somebody else. */
export function requirePublicClient(ctx: Context, parameters: Parameters): void {
  const isBasic = ctx.get('authorization') !== '';
  if (!isBasic && parameters['client_secret'] === undefined && parameters['client_assertion'] === undefined) return;
  throw new OAuthRefusal('invalid_client', 'Clients are public here: send client_id in the form, and no secret.', {
    headers: isBasic ? { 'www-authenticate': 'Basic realm="token"' } : undefined,
  });
}

const CODES = ['invalid_request', 'invalid_client', 'invalid_grant', 'invalid_scope', 'unauthorized_client'] as const;

/** The library's errors as ours; what we threw ourselves comes back out of its wrapping. */
function asRefusal(error: Error & { inner?: unknown }): never {
  if (error.inner instanceof Error) throw error.inner;
  const code = CODES.find((known) => known === error.name);
  throw code === undefined ? error : new OAuthRefusal(code, `${error.message.replaceAll(/[`"\\]/g, '')}.`);
}
