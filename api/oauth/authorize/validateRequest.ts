import { findClientForConsent } from '../../../shared/domain/oauth/clients.ts';
import { findResource, type Resource } from '../../../shared/domain/oauth/resources.ts';
import { isRegisteredRedirectUri } from '../../../shared/domain/oauth/redirectUris.ts';
import { ALL_SCOPES, OAuthError, parseScopes, type Scope } from '../../../shared/spec/oauth.ts';
import type { OAuthClient } from '../../../shared/tables/OAuthClient.ts';
import { type OAuthParameters, requireParameter } from '../parameters.ts';

/** A registered client with a redirect URI of its own: from here on, errors can be sent to the client. */
export interface ClientContext {
  client: OAuthClient;
  redirectUri: string;
  state: string | undefined;
}

/** A valid authorization request, as the user is asked to approve it. */
export interface AuthorizationRequest extends ClientContext {
  resource: Resource;
  scopes: Scope[];
  codeChallenge: string;
  /** Values of the parameter `prompt`. */
  prompts: string[];
}

/**
 * Finds the client of a request.
 * @throws OAuthError for a page. It must not be sent to a redirect URI, because none is verified yet.
 */
export async function validateClient(query: URLSearchParams, accountId: number | undefined): Promise<OAuthClient> {
  for (const name of ['client_id', 'redirect_uri']) {
    if (query.getAll(name).length > 1) throw new OAuthError('invalid_request', `${name} must not be repeated.`);
  }
  const clientId = query.get('client_id') ?? '';
  if (clientId === '') throw new OAuthError('invalid_request', 'client_id is missing.');
  return findClientForConsent(clientId, accountId);
}

/**
 * Returns the redirect URI to use. A client that registered one URI may leave the parameter out.
 * @throws OAuthError for a page, as in {@link validateClient}.
 */
export function validateRedirectUri(query: URLSearchParams, client: OAuthClient): string {
  const [only, another] = client.redirect_uris;
  const redirectUri = query.get('redirect_uri') || (another === undefined ? only : undefined);
  if (redirectUri === undefined) throw new OAuthError('invalid_request', 'redirect_uri is missing.');
  if (isRegisteredRedirectUri(redirectUri, client.redirect_uris)) return redirectUri;
  throw new OAuthError('invalid_request', 'redirect_uri is not one that the application registered.');
}

/** Reads `state`, which every response repeats. A repeated parameter is rejected later, and has no value here. */
export function readState(query: URLSearchParams): string | undefined {
  const states = query.getAll('state');
  return states.length === 1 && states[0] !== '' ? states[0] : undefined;
}

/** @throws OAuthError for the client: this server supports codes only, in the query of the redirect URI. */
export function validateResponseType(parameters: OAuthParameters): void {
  if (requireParameter(parameters, 'response_type') !== 'code')
    throw new OAuthError('unsupported_response_type', 'response_type must be code.');
  if ((parameters['response_mode'] ?? 'query') !== 'query')
    throw new OAuthError('invalid_request', 'response_mode must be query.');
}

/** Returns the requested resource. Without one it is `/mcp` (spec: OAuth for MCP). */
export function readResource(parameters: OAuthParameters): Resource {
  return findResource(parameters['resource'] ?? '') ?? 'mcp';
}

/**
 * Returns the requested scopes in a fixed order, or all scopes when none is requested: the consent page lists them.
 * @throws OAuthError for the client
 */
export function validateScopes(parameters: OAuthParameters): Scope[] {
  const scopes = parseScopes(parameters['scope'] ?? '');
  return scopes.length === 0 ? ALL_SCOPES : ALL_SCOPES.filter((scope) => scopes.includes(scope));
}

/**
 * Returns the PKCE challenge, which is required, with S256 only (spec: Authentication). The exchange of the code
 * compares it with the verifier (`exchangeCode` in the domain).
 * @throws OAuthError for the client
 */
export function validatePkce(parameters: OAuthParameters): string {
  const challenge = requireParameter(parameters, 'code_challenge');
  if (parameters['code_challenge_method'] !== 'S256')
    throw new OAuthError('invalid_request', 'code_challenge_method must be S256.');
  if (!/^[A-Za-z0-9_-]{43}$/.test(challenge))
    throw new OAuthError('invalid_request', 'code_challenge must be a SHA-256 in base64url, 43 characters.');
  return challenge;
}

export function parsePrompts(parameters: OAuthParameters): string[] {
  return (parameters['prompt'] ?? '').split(' ').filter((word) => word !== '');
}
