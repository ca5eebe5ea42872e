import { config } from '../../lib/config.ts';
import { canParseUrl } from '../../lib/canParseUrl.ts';

const REDIRECT_URI_MAX_CHARACTERS = 1_000;

/** Hosts of clients on the user's own machine, reached over plain http at any port (RFC 8252). */
const LOOPBACK_HOSTS = new Set(['127.0.0.1', '[::1]', 'localhost']);

/**
 * Private-use schemes as RFC 8252 (7.1) requires them: a reversed domain name, so with a period. Schemes of the
 * operating system also have this form, but do not belong to a client.
 */
const PRIVATE_USE_SCHEME =
  /^(?!(microsoft|windows|com\.(microsoft|apple|google|android))\.)[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:$/;

/** Schemes without a period that MCP clients are known to use. OAUTH_PRIVATE_SCHEMES adds more. */
const KNOWN_CLIENT_SCHEMES = new Set(
  `antigravity: boltai: chatgpt: cherrystudio: claude: code-oss: codex: cursor: goose: jetbrains: kiro: lmstudio: raycast:
   trae: vscode: vscode-insiders: vscodium: warp: warppreview: windsurf: windsurf-next: zed:`
    .trim()
    .split(/\s+/),
);

/** Printable ASCII without spaces, quotes and brackets, which needs no escaping in a header or on a page. */
const PLAIN_URI_CHARACTERS = /^[\x21\x23-\x26\x28-\x3b\x3d\x3f-\x5b\x5d\x5f\x61-\x7a\x7e]+$/;

/** Returns the reason why a URI cannot be a redirect URI, as the end of a sentence; undefined if it can. */
export function findRedirectUriProblem(uri: string): string | undefined {
  if (uri.length > REDIRECT_URI_MAX_CHARACTERS) return `is longer than ${REDIRECT_URI_MAX_CHARACTERS} characters`;
  if (!PLAIN_URI_CHARACTERS.test(uri) || !canParseUrl(uri)) return 'is not a valid URI';
  const url = new URL(uri);
  if (uri.includes('#')) return 'has a fragment';
  if (url.username !== '' || url.password !== '') return 'contains credentials';
  if (url.protocol === 'https:') return /^https:\/\//i.test(uri) ? undefined : 'is not a valid URI';
  if (url.protocol === 'http:') return isLoopbackUri(uri) ? undefined : 'is neither https nor a loopback address';
  if (isClientScheme(url.protocol)) return undefined;
  return `has the scheme ${url.protocol} - use https, http on a loopback address, or a private-use scheme with a period`;
}

/**
 * Returns whether a scheme belongs to a client rather than to the browser or the operating system. All others are
 * rejected, because a list of dangerous schemes is never complete.
 */
function isClientScheme(scheme: string): boolean {
  if (PRIVATE_USE_SCHEME.test(scheme) || KNOWN_CLIENT_SCHEMES.has(scheme)) return true;
  return config.OAUTH_PRIVATE_SCHEMES.split(',').some((name) => `${name.trim()}:` === scheme);
}

/** Compares a URI with the registered ones: exactly, except for the port of a loopback address (RFC 8252, 7.3). */
export function isRegisteredRedirectUri(uri: string, registered: readonly string[]): boolean {
  // Also applies rules that were added after the registration.
  if (!canParseUrl(uri) || findRedirectUriProblem(uri) !== undefined) return false;
  if (registered.includes(uri)) return true;
  if (!isLoopbackUri(uri)) return false;
  return registered.some((known) => isLoopbackUri(known) && stripPort(known) === stripPort(uri));
}

/** Returns whether a URI has a loopback host in its canonical spelling; 127.1, for example, is rejected. */
export function isLoopbackUri(uri: string): boolean {
  const { hostname } = new URL(uri);
  return LOOPBACK_HOSTS.has(hostname) && uri.startsWith(`http://${hostname}`);
}

function stripPort(uri: string): string {
  return uri.replace(/^(http:\/\/(?:\[::1\]|[^/:?]+)):\d{1,5}(?=[/?]|$)/, '$1');
}

/** Returns the target of a redirect URI as users recognize it: its host, or the scheme of a local application. */
export function getRedirectHost(uri: string): string {
  if (!canParseUrl(uri)) return '';
  const url = new URL(uri);
  if (!/^https?:$/.test(url.protocol)) return `${url.protocol}//${url.host}`;
  return LOOPBACK_HOSTS.has(url.hostname) ? url.hostname : url.host;
}
