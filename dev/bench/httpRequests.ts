import type { Client } from 'pg';
import { buildMcpHeaders } from '../local/mcpMessages.ts';
import { getAccountKey, HOT_ACCOUNT } from './seed.ts';

/** Whole requests as text, which are built once and sent many times. */

/** Placeholder for the number of the request, for what must differ each time. */
export const REQUEST_NUMBER = '{request number}';

/** Placeholder for `t=<seconds>,v1=<hash>`, of the same length. */
export const STRIPE_SIGNATURE = '{signature}'.padEnd(80, '.');

const PROMPT = 'A lighthouse at dusk, seen from the sea, painted in oil';
const IMAGE = { model: 'imgmodel-2', prompt: PROMPT, params: { resolution: '1K', aspect_ratio: '16:9' } };
export const VIDEO = { model: 'vidmodel-video', prompt: PROMPT, params: { duration: 5, resolution: '720p' } };

/** Builds a request without a body. */
export function buildGet(path: string, header: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${header}\r\n\r\n`;
}

/** Builds a request with a body, by default JSON. */
export function buildPost(path: string, headers: readonly string[], body: string, type = 'application/json'): string {
  const own = [`Content-Type: ${type}`, `Content-Length: ${Buffer.byteLength(body)}`];
  return [`POST ${path} HTTP/1.1`, 'Host: 127.0.0.1', ...headers, ...own, '', body].join('\r\n');
}

/** Builds the header with an account's key. */
export function buildKeyHeader(account: number): string {
  return `Authorization: Bearer ${getAccountKey(account)}`;
}

/** Builds a request with an account's key. */
export function buildKeyGet(account: number, path: string): string {
  return buildGet(path, buildKeyHeader(account));
}

/**
 * Builds a create of an image.
 * @param path differs for the bare server, which takes the same request.
 * @param headers of the credential.
 */
export function buildCreate(
  account: number,
  path = '/api/generations/create/',
  headers: readonly string[] = [buildKeyHeader(account)],
  body: object = IMAGE,
): string {
  return buildPost(path, headers, JSON.stringify(body));
}

/** Builds a create by each account of the spread load. */
export function buildCreates(accounts: number): string[] {
  return listSpreadAccounts(accounts).map((account) => buildCreate(account));
}

/** Builds reads of 4,000 generations, below a path. */
export async function buildReads(client: Client, path: string): Promise<string[]> {
  const { rows } = await client.query<{ uuid: string; account: string }>(
    `SELECT uuid, account_id AS account FROM generations WHERE status = 'succeeded' ORDER BY md5(uuid::text) LIMIT 4000`,
  );
  return rows.map(({ uuid, account }) => buildKeyGet(Number(account), `${path}/${uuid}`));
}

/** Builds a message to the MCP server, in a session if it names one. */
export function buildMcpRequest(account: number, message: object, sessionId?: string): string {
  const headers = Object.entries(buildMcpHeaders(getAccountKey(account), sessionId));
  return buildPost(
    '/mcp',
    headers.map((header) => header.join(': ')),
    JSON.stringify(message),
  );
}

/** Lists the accounts that spread load uses: all but the hot one. */
export function listSpreadAccounts(accounts: number): number[] {
  return Array.from({ length: accounts - 1 }, (_, index) => HOT_ACCOUNT + 1 + index);
}
