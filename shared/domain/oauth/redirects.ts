import { REDIRECT_URI_MAX_CHARACTERS } from '../../spec/limits.ts';

/** Where a client that runs on the person's own machine is reached: over plain http, at any port (RFC 8252). */
const LOOPBACK = new Set(['127.0.0.1', '[::1]', 'localhost']);

/** Schemes that a browser, or what it hands an address to, acts upon by itself. */
const NOT_PRIVATE = new Set(
  `http: https: javascript: data: vbscript: file: blob: about: filesystem: view-source: ws: wss: ftp: sftp: mailto: tel:
   sms: chrome: chrome-extension: moz-extension: edge: resource: jar: intent: content: android-app: shell: search:
   search-ms: mk: feed: ssh: telnet: ldap:`
    .trim()
    .split(/\s+/),
);

/** Those of Windows and of what belongs to it, such as ms-settings: and ms-msdt: */
const OF_WINDOWS = 'ms-';

/** Printable ASCII without blanks, quotes and brackets: what may stand in a header and on a page as it is. */
const PLAIN = /^[\x21\x23-\x26\x28-\x3b\x3d\x3f-\x5b\x5d\x5f\x61-\x7a\x7e]+$/;

/** Why an address cannot be one that people are sent back to, as the end of a sentence; undefined where it can. */
export function redirectFault(uri: string): string | undefined {
  if (uri.length > REDIRECT_URI_MAX_CHARACTERS) return `is longer than ${REDIRECT_URI_MAX_CHARACTERS} characters`;
  if (!PLAIN.test(uri) || !URL.canParse(uri)) return 'is no address';
  const url = new URL(uri);
  if (uri.includes('#')) return 'has a fragment';
  if (url.username !== '' || url.password !== '') return 'has credentials in it';
  if (url.protocol === 'https:') return /^https:\/\//i.test(uri) ? undefined : 'is no address';
  if (url.protocol === 'http:') return isLoopback(uri) ? undefined : 'is not https, and no loopback address';
  if (NOT_PRIVATE.has(url.protocol) || url.protocol.startsWith(OF_WINDOWS))
    return `is of the scheme ${url.protocol}, which no application of its own has`;
  return undefined;
}

/** Whether one of a client's addresses is meant: exactly, but for the port of a loopback address (RFC 8252, 7.3). */
export function isRegistered(uri: string, registered: readonly string[]): boolean {
  if (registered.includes(uri)) return true;
  if (redirectFault(uri) !== undefined || !isLoopback(uri)) return false;
  return registered.some((known) => isLoopback(known) && withoutPort(known) === withoutPort(uri));
}

/** Written as it is meant: no other spelling of these hosts, such as 127.1, counts. */
function isLoopback(uri: string): boolean {
  const { hostname } = new URL(uri);
  return LOOPBACK.has(hostname) && uri.startsWith(`http://${hostname}`);
}

function withoutPort(uri: string): string {
  return uri.replace(/^(http:\/\/(?:\[::1\]|[^/:?]+)):\d{1,5}(?=[/?]|$)/, '$1');
}

/** Where an address leads, for people to recognise: its host, or the scheme of an application on their machine. */
export function redirectHost(uri: string): string {
  if (!URL.canParse(uri)) return '';
  const url = new URL(uri);
  if (!/^https?:$/.test(url.protocol)) return `${url.protocol}//${url.host}`;
  return LOOPBACK.has(url.hostname) ? url.hostname : url.host;
}

/** What a page's `form-action` must allow for its form's answer to lead there: an origin, or a private scheme. */
export function redirectTarget(uri: string): string {
  const url = new URL(uri);
  return /^https?:$/.test(url.protocol) ? url.origin : url.protocol;
}
