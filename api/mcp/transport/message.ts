import {
  classifyInboundRequest,
  INVALID_REQUEST,
  isJsonContentType,
  type JSONRPCNotification,
  type JSONRPCRequest,
  PARSE_ERROR,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/server';
import { tryParseBoundedJson } from '../../../shared/lib/boundedJson.ts';
import { BODY_LIMIT_BYTES } from '../../../shared/spec/limits.ts';
import type { Context, Handler } from '../../context.ts';
import { readRawBody } from '../../pipeline/body.ts';
import { namesPrototype, PROTOTYPE_DETAIL } from '../../pipeline/parseJson.ts';

/** Server-defined JSON-RPC code: the HTTP request around the message is invalid. */
const TRANSPORT_ERROR = -32_000;

/** Rejects a message before it reaches the server, with an HTTP status and a JSON-RPC error. */
export class McpTransportError extends Error {
  readonly status: number;
  /** The JSON-RPC error response. */
  readonly body: object;

  /** @param error.id id of the rejected request; null if it could not be read. */
  constructor(
    status: number,
    message: string,
    { code = TRANSPORT_ERROR, data, id = null }: { code?: number; data?: unknown; id?: string | number | null } = {},
  ) {
    super(message);
    this.name = 'McpTransportError';
    this.status = status;
    this.body = { jsonrpc: '2.0', id, error: { code, message, data } };
  }
}

/** Renders an {@link McpTransportError} as JSON-RPC. Other errors reach the error middleware. */
export function withTransportErrors(handler: (ctx: Context) => Promise<void>): Handler {
  return async (ctx) => {
    try {
      await handler(ctx);
    } catch (error) {
      if (!(error instanceof McpTransportError)) throw error;
      ctx.status = error.status;
      ctx.body = error.body;
    }
  };
}

/** The response types that the Accept header allows. */
export interface AcceptedTypes {
  json: boolean;
  sse: boolean;
}

/**
 * Parses the Accept header. Clients should accept both types; a client that accepts one gets that one.
 * @throws McpTransportError 406
 */
export function parseAcceptedTypes(ctx: Context): AcceptedTypes {
  const accept = ctx.get('accept');
  const isOpen = accept === '' || accept.includes('*/*');
  const accepted = {
    json: isOpen || /application\/(\*|json)/.test(accept),
    sse: isOpen || /text\/(\*|event-stream)/.test(accept),
  };
  if (accepted.json || accepted.sse) return accepted;
  throw new McpTransportError(406, 'Send "Accept: application/json, text/event-stream".');
}

/** A parsed message of a POST, with the handler that it needs. */
export type InboundMessage =
  | { kind: 'request'; message: JSONRPCRequest }
  /** A notification, or a response to a request of the server, which sends none. */
  | { kind: 'notification'; message: JSONRPCNotification }
  /** A message of the version without sessions (2026-07-28), which the library's own handler serves. */
  | { kind: 'stateless'; message: JSONRPCRequest | JSONRPCNotification };

/** Levels of a message. The validators of the library are recursive, and overflow at 1,500. */
const MESSAGE_DEPTH_MAX = 500;

/**
 * Reads the message of a POST. Undefined for invalid JSON: {@link classifyMessage} rejects it after it was counted
 * against the rate limit.
 * @throws McpTransportError 415 or 413; 400 for a field named __proto__
 */
export async function readMessageBody(ctx: Context): Promise<unknown> {
  if (!isJsonContentType(ctx.get('content-type'))) {
    throw new McpTransportError(415, 'Send the message with "Content-Type: application/json".');
  }
  const body = await readRawBody(ctx, BODY_LIMIT_BYTES).catch(() => {
    throw new McpTransportError(413, `A message must have at most ${BODY_LIMIT_BYTES} bytes.`);
  });
  const text = body.toString('utf8');
  const message = tryParseBoundedJson(text, MESSAGE_DEPTH_MAX);
  // As in REST bodies. The library would drop the field and serve the request without it.
  if (message !== undefined && namesPrototype(text))
    throw new McpTransportError(400, PROTOTYPE_DETAIL, { code: INVALID_REQUEST, id: readMessageId(message) });
  return message;
}

/**
 * Validates a message and determines its kind and protocol version.
 * @throws McpTransportError 400
 */
export function classifyMessage(ctx: Context, body: unknown): InboundMessage {
  if (body === undefined) throw new McpTransportError(400, 'The body must be valid JSON.', { code: PARSE_ERROR });
  if (Array.isArray(body))
    throw new McpTransportError(400, 'Batches are not supported: send one message per request.', {
      code: INVALID_REQUEST,
    });
  const classified = classifyInboundRequest({
    httpMethod: 'POST',
    protocolVersionHeader: getHeader(ctx, 'mcp-protocol-version'),
    mcpMethodHeader: getHeader(ctx, 'mcp-method'),
    mcpNameHeader: getHeader(ctx, 'mcp-name'),
    body,
  });
  if (classified.kind === 'reject') {
    const { httpStatus, code, message, data } = classified;
    throw new McpTransportError(httpStatus, message, { code, data, id: readMessageId(body) });
  }
  if (classified.kind === 'modern') return { kind: 'stateless', message: classified.message };
  const message = body as JSONRPCRequest | JSONRPCNotification;
  return 'method' in message && 'id' in message ? { kind: 'request', message } : { kind: 'notification', message };
}

/**
 * Checks the version header, which repeats the negotiated version. Clients of the earliest versions send none.
 * @throws McpTransportError 400
 */
export function requireSupportedVersion(ctx: Context): void {
  const version = getHeader(ctx, 'mcp-protocol-version');
  if (version === undefined || SUPPORTED_PROTOCOL_VERSIONS.includes(version.trim())) return;
  const known = SUPPORTED_PROTOCOL_VERSIONS.join(', ');
  throw new McpTransportError(400, `MCP-Protocol-Version is not supported: use ${known}, or 2026-07-28 with POST.`);
}

/** Reads the id of a message that may be invalid. */
function readMessageId(body: unknown): string | number | null {
  const id = (body as { id?: unknown } | null | undefined)?.id;
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}

export function getHeader(ctx: Context, name: string): string | undefined {
  const value = ctx.headers[name];
  return typeof value === 'string' ? value : undefined;
}
