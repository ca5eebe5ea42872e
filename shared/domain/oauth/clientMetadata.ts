import { OAuthError } from '../../spec/oauth.ts';
import { findRedirectUriProblem, getRedirectHost } from './redirectUris.ts';

const CLIENT_NAME_MAX_CHARACTERS = 100;
const REDIRECT_URIS_MAX = 10;

/** Stored fields of a client's metadata (RFC 7591), from its registration or its metadata document. */
export interface ClientMetadata {
  name: string;
  redirectUris: string[];
}

/** Methods of authentication of clients that work without a secret. */
const PUBLIC_METHODS = ['none', 'client_secret_post', 'client_secret_basic'];

/**
 * Validates the metadata of a client. Unknown fields are ignored, as RFC 7591 requires. All clients are public and
 * use PKCE: one that asks for a secret is registered without.
 * @param defaultName name of a client that gives none; default: the host of its first redirect URI.
 * @throws OAuthError invalid_redirect_uri, invalid_client_metadata
 */
export function parseClientMetadata(metadata: Record<string, unknown>, defaultName?: string): ClientMetadata {
  const redirectUris = parseRedirectUris(metadata['redirect_uris']);
  const method = metadata['token_endpoint_auth_method'];
  if (typeof method === 'string' && !PUBLIC_METHODS.includes(method))
    throw clientMetadataError('token_endpoint_auth_method must be none: clients are public and use PKCE.');
  requireIncludes(metadata, 'grant_types', 'authorization_code');
  requireIncludes(metadata, 'response_types', 'code');
  const name = parseClientName(metadata['client_name']);
  return { name: name === '' ? (defaultName ?? getRedirectHost(redirectUris[0] as string)) : name, redirectUris };
}

function parseRedirectUris(value: unknown): string[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > REDIRECT_URIS_MAX) {
    const description = `redirect_uris must be a list of 1 to ${REDIRECT_URIS_MAX} URIs.`;
    throw new OAuthError('invalid_redirect_uri', description);
  }
  for (const [index, uri] of value.entries()) {
    const problem = typeof uri === 'string' ? findRedirectUriProblem(uri) : 'is not a string';
    if (problem !== undefined) throw new OAuthError('invalid_redirect_uri', `redirect_uris[${index}] ${problem}.`);
  }
  return [...new Set(value as string[])];
}

function requireIncludes(metadata: Record<string, unknown>, field: string, required: string): void {
  const value = metadata[field];
  if (value === undefined || value === null) return;
  if (!Array.isArray(value) || !value.includes(required))
    throw clientMetadataError(`${field} must contain ${required}.`);
}

/** Invisible characters and direction marks, which could make one name look like another. */
const INVISIBLE_CHARACTERS = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\uFFFD]/gu;

function parseClientName(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') throw clientMetadataError('client_name must be a string.');
  const name = value.replaceAll(INVISIBLE_CHARACTERS, ' ').replaceAll(/\s+/gu, ' ').trim();
  if (name.length <= CLIENT_NAME_MAX_CHARACTERS) return name;
  throw clientMetadataError(`client_name must have at most ${CLIENT_NAME_MAX_CHARACTERS} characters.`);
}

function clientMetadataError(description: string): OAuthError {
  return new OAuthError('invalid_client_metadata', description);
}
