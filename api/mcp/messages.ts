import {
  classifyInboundRequest,
  isJsonContentType,
  isJSONRPCRequest,
  type JSONRPCNotification,
  type JSONRPCRequest,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/server';
import { BODY_LIMIT_BYTES } from '../../shared/spec/limits.ts';
import type { Context } from '../context.ts';
import { rawBodyOf } from '../middleware/body.ts';
import { BAD_TRANSPORT, INVALID_REQUEST, PARSE_ERROR, Refusal } from './refusal.ts';

/** What a POST brings, and how it is to be served. */
export type Message =
  | { kind: 'request'; message: JSONRPCRequest }
  | { kind: 'notification'; message: JSONRPCNotification }
  /** An answer to a question of ours; we ask none. */
  | { kind: 'response' }
  /** Of the stateless era: the library's own handler sees to all of it. */
  | { kind: 'stateless'; message: JSONRPCRequest | JSONRPCNotification };

/**
 * Reads the message of a POST, as far as it can be read; what is wrong with it is said later, once it has been counted.
 * @throws Refusal 415 or 413; 400 where a field is called __proto__
 */
export async function readMessage(ctx: Context): Promise<unknown> {
  if (!isJsonContentType(ctx.get('content-type'))) {
    throw new Refusal(415, BAD_TRANSPORT, 'Send the message with "Content-Type: application/json".');
  }
  const body = await rawBodyOf(ctx, BODY_LIMIT_BYTES).catch(() => {
    throw new Refusal(413, BAD_TRANSPORT, `A message must have at most ${BODY_LIMIT_BYTES} bytes.`);
  });
  const text = body.toString('utf8');
  try {
    return MAY_NAME_PROTOTYPE.test(text) ? parseStrictly(text) : (JSON.parse(text) as unknown);
  } catch (error) {
    if (error instanceof Refusal) throw error;
    return undefined;
  }
}

/** The name as it is, or with some of it spelled out. Prompts may have it in them. */
const MAY_NAME_PROTOTYPE = /__proto__|\\u00/i;

/** As in the bodies of REST: the library would drop such a field, and what was wrong with the request along with it. */
function parseStrictly(text: string): unknown {
  let namesPrototype = false;
  const body = JSON.parse(text, (name, value: unknown) => {
    namesPrototype ||= name === '__proto__';
    return value;
  }) as unknown;
  if (!namesPrototype) return body;
  throw new Refusal(400, INVALID_REQUEST, '__proto__ is not known here.', undefined, idIn(body));
}

/**
 * Tells which era a message is of, and checks that it is one.
 * @throws Refusal 400
 */
export function messageIn(ctx: Context, body: unknown): Message {
  if (body === undefined) throw new Refusal(400, PARSE_ERROR, 'The body is no JSON.');
  if (Array.isArray(body))
    throw new Refusal(400, INVALID_REQUEST, 'Send one message in a request: batches are refused.');
  const found = classifyInboundRequest({
    httpMethod: 'POST',
    protocolVersionHeader: headerOf(ctx, 'mcp-protocol-version'),
    mcpMethodHeader: headerOf(ctx, 'mcp-method'),
    mcpNameHeader: headerOf(ctx, 'mcp-name'),
    body,
  });
  if (found.kind === 'reject') throw new Refusal(found.httpStatus, found.code, found.message, found.data, idIn(body));
  if (found.kind === 'modern') return { kind: 'stateless', message: found.message };
  if (found.reason === 'response') return { kind: 'response' };
  if (isJSONRPCRequest(body)) return { kind: 'request', message: body };
  return { kind: 'notification', message: body as JSONRPCNotification };
}

/**
 * A client names the version that was agreed on with every request; one that does not is taken for an early one.
 * @throws Refusal 400
 */
export function requireKnownVersion(ctx: Context): void {
  const version = headerOf(ctx, 'mcp-protocol-version');
  if (version === undefined || SUPPORTED_PROTOCOL_VERSIONS.includes(version.trim())) return;
  const known = SUPPORTED_PROTOCOL_VERSIONS.join(', ');
  throw new Refusal(400, BAD_TRANSPORT, `MCP-Protocol-Version: this service speaks ${known}, and 2026-07-28 by POST.`);
}

/** The id that a message seems to have. */
export function idIn(body: unknown): string | number | null {
  const id = (body as { id?: unknown } | null | undefined)?.id;
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}

export function headerOf(ctx: Context, name: string): string | undefined {
  const value = ctx.headers[name];
  return typeof value === 'string' ? value : undefined;
}
