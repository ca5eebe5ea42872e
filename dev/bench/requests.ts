import { HOT_ACCOUNT, keyOf } from './seed.ts';

/** Requests as they go over the wire: built once, sent many times. */

const ORDER = JSON.stringify({
  model: 'imgmodel-2',
  prompt: 'A lighthouse at dusk, seen from the sea, painted in oil',
  params: { resolution: '1K', aspect_ratio: '16:9' },
});

/** A create of an account; `path` is another one for the bare server, which takes the same request. */
export function createRequest(account: number, path = '/api/generations/create/'): string {
  return head('POST', path, account, [
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(ORDER)}`,
  ]).concat(ORDER);
}

export function getRequest(account: number, path: string): string {
  return head('GET', path, account, []);
}

/** A message to the MCP server, in a session if it names one. */
export function mcpRequest(account: number, message: object, sessionId?: string): string {
  const body = JSON.stringify(message);
  return head('POST', '/mcp', account, [
    'Content-Type: application/json',
    'Accept: application/json, text/event-stream',
    'MCP-Protocol-Version: 2025-11-25',
    ...(sessionId === undefined ? [] : [`Mcp-Session-Id: ${sessionId}`]),
    `Content-Length: ${Buffer.byteLength(body)}`,
  ]).concat(body);
}

function head(method: string, path: string, account: number, more: string[]): string {
  const lines = [`${method} ${path} HTTP/1.1`, 'Host: 127.0.0.1', `Authorization: Bearer ${keyOf(account)}`, ...more];
  return `${lines.join('\r\n')}\r\n\r\n`;
}

/** The accounts that spread load goes to: all but the hot one. */
export function spreadAccounts(accounts: number): number[] {
  return Array.from({ length: accounts - 1 }, (_, index) => HOT_ACCOUNT + 1 + index);
}
