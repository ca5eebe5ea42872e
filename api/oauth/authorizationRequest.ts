import { issuer } from '../../shared/domain/oauth/accessTokens.ts';
import { findClientForConsent } from '../../shared/domain/oauth/clients.ts';
import { isRegisteredRedirectUri } from '../../shared/domain/oauth/redirectUris.ts';
import { ALL_SCOPES, OAuthError, parseScopes, type Scope } from '../../shared/spec/oauth.ts';
import type { OAuthClient } from '../../shared/tables/OAuthClient.ts';
import { type OAuthParameters, parseParameters, requireParameter } from './parameters.ts';

/** Who asks, and where they are to be answered: once this is known, so is whom to tell of errors. */
export interface ClientContext {
  client: OAuthClient;
  redirectUri: string;
  state: string | undefined;
}

/** What a client asks a person for. */
export interface AuthorizationRequest extends ClientContext {
  scopes: Scope[];
  codeChallenge: string;
  /** What the client wants the person to be asked, whatever is known of them. */
  prompts: string[];
}

/**
 * Reads who asks, from a registered client at one of its own addresses.
 * @throws OAuthRefusal for the person to be told; it must not be sent to an address that nobody vouches for.
 */
export async function validateClient(query: URLSearchParams, accountId: number | undefined): Promise<ClientContext> {
  for (const name of ['client_id', 'redirect_uri']) {
    if (query.getAll(name).length > 1) throw new OAuthError('invalid_request', `${name} must not be repeated.`);
  }
  const clientId = query.get('client_id') ?? '';
  if (clientId === '') throw new OAuthError('invalid_request', 'client_id is missing.');
  const client = await findClientForConsent(clientId, accountId);
  const [only, another] = client.redirect_uris;
  const redirectUri = query.get('redirect_uri') || (another === undefined ? only : undefined);
  if (redirectUri === undefined) throw new OAuthError('invalid_request', 'redirect_uri is missing.');
  if (!isRegisteredRedirectUri(redirectUri, client.redirect_uris))
    throw new OAuthError('invalid_request', 'redirect_uri is none of the addresses that the application registered.');
  const states = query.getAll('state');
  return { client, redirectUri, state: states.length === 1 && states[0] !== '' ? states[0] : undefined };
}

/**
 * Reads what is asked for.
 * @throws OAuthRefusal for the client to be told, at its redirect address.
 */
export function parseAuthorizationRequest(context: ClientContext, query: URLSearchParams): AuthorizationRequest {
  const parameters = parseParameters(query);
  if (requireParameter(parameters, 'response_type') !== 'code')
    throw new OAuthError('unsupported_response_type', 'response_type must be code.');
  if ((parameters['response_mode'] ?? 'query') !== 'query')
    throw new OAuthError('invalid_request', 'response_mode must be query.');
  const scopes = parseScopes(parameters['scope'] ?? '');
  return {
    ...context,
    codeChallenge: parseCodeChallenge(parameters),
    // Who names no scope gets what there is: the person sees what that is.
    scopes: scopes.length === 0 ? ALL_SCOPES : ALL_SCOPES.filter((scope) => scopes.includes(scope)),
    prompts: (parameters['prompt'] ?? '').split(' ').filter((word) => word !== ''),
  };
}

/** PKCE is required, and only the kind whose challenge gives nothing away (spec: Authentication). */
function parseCodeChallenge(parameters: OAuthParameters): string {
  const challenge = requireParameter(parameters, 'code_challenge');
  if (parameters['code_challenge_method'] !== 'S256')
    throw new OAuthError('invalid_request', 'code_challenge_method must be S256.');
  if (!/^[A-Za-z0-9_-]{43}$/.test(challenge))
    throw new OAuthError('invalid_request', 'code_challenge must be a SHA-256 in base64url, 43 characters.');
  return challenge;
}

/** The client's address with our answer: a code, or an error. `iss` says whose it is (RFC 9207). */
export function buildRedirectUrl({ redirectUri, state }: ClientContext, response: Record<string, string>): string {
  const query = new URLSearchParams({ ...response, ...(state === undefined ? {} : { state }), iss: issuer() });
  return `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${query.toString()}`;
}
