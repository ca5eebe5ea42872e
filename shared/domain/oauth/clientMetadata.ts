import { CLIENT_NAME_MAX_CHARACTERS, REDIRECT_URIS_MAX } from '../../spec/limits.ts';
import { OAuthRefusal } from '../../spec/oauth.ts';
import { redirectFault, redirectHost } from './redirects.ts';

/** What is kept of the metadata of a client (RFC 7591), whether it sent them or shows them at its address. */
export interface ClientMetadata {
  name: string;
  redirectUris: string[];
}

/**
 * Reads what a client says of itself. What is not asked for here is ignored, as RFC 7591 wants it.
 * @param nameless what to call a client that gives no name; otherwise by where it has its answers sent.
 * @throws OAuthRefusal invalid_redirect_uri, invalid_client_metadata
 */
export function readClientMetadata(metadata: Record<string, unknown>, nameless?: string): ClientMetadata {
  const redirectUris = redirectUrisIn(metadata['redirect_uris']);
  const method = metadata['token_endpoint_auth_method'];
  if (method !== undefined && method !== null && method !== 'none')
    throw unacceptable('token_endpoint_auth_method must be none: clients here are public, and kept apart by PKCE.');
  requireAmong(metadata, 'grant_types', 'authorization_code');
  requireAmong(metadata, 'response_types', 'code');
  const name = nameIn(metadata['client_name']);
  return { name: name === '' ? (nameless ?? redirectHost(redirectUris[0] as string)) : name, redirectUris };
}

function redirectUrisIn(value: unknown): string[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > REDIRECT_URIS_MAX) {
    const description = `redirect_uris must be a list of 1 to ${REDIRECT_URIS_MAX} addresses.`;
    throw new OAuthRefusal('invalid_redirect_uri', description);
  }
  for (const [index, uri] of value.entries()) {
    const fault = typeof uri === 'string' ? redirectFault(uri) : 'is no text';
    if (fault !== undefined) throw new OAuthRefusal('invalid_redirect_uri', `redirect_uris[${index}] ${fault}.`);
  }
  return [...new Set(value as string[])];
}

function requireAmong(metadata: Record<string, unknown>, field: string, wanted: string): void {
  const value = metadata[field];
  if (value === undefined || value === null) return;
  if (!Array.isArray(value) || !value.includes(wanted)) throw unacceptable(`${field} must contain ${wanted}.`);
}

/** Letters that show nothing, or turn the text around, could make one name look like another. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\uFFFD]/gu;

function nameIn(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') throw unacceptable('client_name must be a text.');
  const name = value.replaceAll(INVISIBLE, ' ').replaceAll(/\s+/gu, ' ').trim();
  if (name.length <= CLIENT_NAME_MAX_CHARACTERS) return name;
  throw unacceptable(`client_name must have at most ${CLIENT_NAME_MAX_CHARACTERS} characters.`);
}

function unacceptable(description: string): OAuthRefusal {
  return new OAuthRefusal('invalid_client_metadata', description);
}
