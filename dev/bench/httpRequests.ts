import { buildMcpHeaders } from '../local/mcpMessages.ts';
import { HOT_ACCOUNT, getAccountKey } from './seed.ts';

/** Requests as bytes: built once, sent many times. */

/** Placeholder for the number of the request, for what must differ each time. */
export const REQUEST_NUMBER = '{request number}';

const CREATE_BODY = JSON.stringify({
  model: 'imgmodel-2',
  prompt: 'A lighthouse at dusk, seen from the sea, painted in oil',
  params: { resolution: '1K', aspect_ratio: '16:9' },
});

/**
 * A create by an account.
 * @param path differs for the bare server, which takes the same request.
 * @param headers of the credential.
 */
export function buildCreateRequest(
  account: number,
  path = '/api/generations/create/',
  headers = [buildKeyHeader(account)],
  body = CREATE_BODY,
): string {
  return buildHead('POST', path, [
    ...headers,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ]).concat(body);
}

/** A create of a video by an account. */
export function buildVideoRequest(account: number): string {
  const { prompt } = JSON.parse(CREATE_BODY) as { prompt: string };
  const body = JSON.stringify({ model: 'vidmodel-video', prompt, params: { duration: 5, resolution: '720p' } });
  return buildCreateRequest(account, undefined, undefined, body);
}

export function buildGetRequest(account: number, path: string): string {
  return buildHead('GET', path, [buildKeyHeader(account)]);
}

/** A request for a page with a session cookie. */
export function buildPageRequest(path: string, sessionToken: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: token=${sessionToken}\r\n\r\n`;
}

/** A message to the MCP server, in a session if it names one. */
export function buildMcpRequest(account: number, message: object, sessionId?: string): string {
  const body = JSON.stringify(message);
  const { authorization: _, ...headers } = buildMcpHeaders(getAccountKey(account), sessionId);
  return buildHead('POST', '/mcp', [
    buildKeyHeader(account),
    'Content-Type: application/json',
    ...Object.entries(headers).map((header) => header.join(': ')),
    `Content-Length: ${Buffer.byteLength(body)}`,
  ]).concat(body);
}

/** The header with an account's key. */
export function buildKeyHeader(account: number): string {
  return `Authorization: Bearer ${getAccountKey(account)}`;
}

function buildHead(method: string, path: string, headers: string[]): string {
  const lines = [`${method} ${path} HTTP/1.1`, 'Host: 127.0.0.1', ...headers];
  return `${lines.join('\r\n')}\r\n\r\n`;
}

/** The accounts that spread load uses: all but the hot one. */
export function listSpreadAccounts(accounts: number): number[] {
  return Array.from({ length: accounts - 1 }, (_, index) => HOT_ACCOUNT + 1 + index);
}
