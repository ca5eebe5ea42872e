import {
  classifyInboundRequest,
  isJsonContentType,
  isJSONRPCRequest,
  type JSONRPCNotification,
  type JSONRPCRequest,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/server';
import { BODY_LIMIT_BYTES } from '../../../shared/spec/limits.ts';
import type { Context } from '../../context.ts';
import { readRawBody } from '../../pipeline/body.ts';
import { TRANSPORT_ERROR, INVALID_REQUEST, PARSE_ERROR, McpTransportError } from './transportError.ts';

/** What a POST brings, and how it is to be served. */
export type InboundMessage =
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
export async function readMessageBody(ctx: Context): Promise<unknown> {
  if (!isJsonContentType(ctx.get('content-type'))) {
    throw new McpTransportError(415, TRANSPORT_ERROR, 'Send the message with "Content-Type: application/json".');
  }
  const body = await readRawBody(ctx, BODY_LIMIT_BYTES).catch(() => {
    throw new McpTransportError(413, TRANSPORT_ERROR, `A message must have at most ${BODY_LIMIT_BYTES} bytes.`);
  });
  const text = body.toString('utf8');
  try {
    return PROTOTYPE_FIELD.test(text) ? parseStrictly(text) : (JSON.parse(text) as unknown);
  } catch (error) {
    if (error instanceof McpTransportError) throw error;
    return undefined;
  }
}

/** The name as it is, or with some of it spelled out. Prompts may have it in them. */
const PROTOTYPE_FIELD = /__proto__|\\u00/i;

/** As in the bodies of REST: the library would drop such a field, and what was wrong with the request along with it. */
function parseStrictly(text: string): unknown {
  let namesPrototype = false;
  const body = JSON.parse(text, (name, value: unknown) => {
    namesPrototype ||= name === '__proto__';
    return value;
  }) as unknown;
  if (!namesPrototype) return body;
  throw new McpTransportError(400, INVALID_REQUEST, '__proto__ is not known here.', undefined, readMessageId(body));
}

/**
 * Tells which era a message is of, and checks that it is one.
 * @throws Refusal 400
 */
export function classifyMessage(ctx: Context, body: unknown): InboundMessage {
  if (body === undefined) throw new McpTransportError(400, PARSE_ERROR, 'The body is no JSON.');
  if (Array.isArray(body))
    throw new McpTransportError(400, INVALID_REQUEST, 'Send one message in a request: batches are refused.');
  const classified = classifyInboundRequest({
    httpMethod: 'POST',
    protocolVersionHeader: getHeader(ctx, 'mcp-protocol-version'),
    mcpMethodHeader: getHeader(ctx, 'mcp-method'),
    mcpNameHeader: getHeader(ctx, 'mcp-name'),
    body,
  });
  if (classified.kind === 'reject')
    throw new McpTransportError(
      classified.httpStatus,
      classified.code,
      classified.message,
      classified.data,
      readMessageId(body),
    );
  if (classified.kind === 'modern') return { kind: 'stateless', message: classified.message };
  if (classified.reason === 'response') return { kind: 'response' };
  if (isJSONRPCRequest(body)) return { kind: 'request', message: body };
  return { kind: 'notification', message: body as JSONRPCNotification };
}

/**
 * A client names the version that was agreed on with every request; one that does not is taken for an early one.
 * @throws Refusal 400
 */
export function requireSupportedVersion(ctx: Context): void {
  const version = getHeader(ctx, 'mcp-protocol-version');
  if (version === undefined || SUPPORTED_PROTOCOL_VERSIONS.includes(version.trim())) return;
  const known = SUPPORTED_PROTOCOL_VERSIONS.join(', ');
  throw new McpTransportError(
    400,
    TRANSPORT_ERROR,
    `MCP-Protocol-Version: this service speaks ${known}, and 2026-07-28 by POST.`,
  );
}

/** The id that a message seems to have. */
export function readMessageId(body: unknown): string | number | null {
  const id = (body as { id?: unknown } | null | undefined)?.id;
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}

export function getHeader(ctx: Context, name: string): string | undefined {
  const value = ctx.headers[name];
  return typeof value === 'string' ? value : undefined;
}
