import {
  classifyInboundRequest,
  isJsonContentType,
  isJSONRPCRequest,
  type JSONRPCNotification,
  type JSONRPCRequest,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/server';
import { tryParseBoundedJson } from '../../../shared/lib/boundedJson.ts';
import { BODY_LIMIT_BYTES } from '../../../shared/spec/limits.ts';
import type { Context, Handler } from '../../context.ts';
import { readRawBody } from '../../pipeline/body.ts';
import { namesPrototype, PROTOTYPE_DETAIL } from '../../pipeline/parseJson.ts';
import { isPlainCall } from './plainCall.ts';

/** JSON-RPC error codes that the transport itself returns. */
const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;
/** Server-defined JSON-RPC code: the HTTP request around the message is invalid. */
export const TRANSPORT_ERROR = -32_000;

/** Rejects a message before it reaches the server, with an HTTP status and a JSON-RPC error. */
export class McpTransportError extends Error {
  readonly status: number;
  readonly code: number;
  readonly data: unknown;
  /** Id of the rejected request; null if it could not be read. */
  readonly id: string | number | null;

  constructor(status: number, code: number, message: string, data?: unknown, id: string | number | null = null) {
    super(message);
    this.name = 'McpTransportError';
    this.status = status;
    this.code = code;
    this.data = data;
    this.id = id;
  }

  /** The JSON-RPC error response. */
  get body(): object {
    const { code, message, data, id } = this;
    return { jsonrpc: '2.0', id, error: { code, message, ...(data === undefined ? {} : { data }) } };
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
  throw new McpTransportError(406, TRANSPORT_ERROR, 'Send "Accept: application/json, text/event-stream".');
}

/** A parsed message of a POST, with the handler that it needs. */
export type InboundMessage =
  | { kind: 'request'; message: JSONRPCRequest }
  | { kind: 'notification'; message: JSONRPCNotification }
  /** A response to a request of the server, which sends none. */
  | { kind: 'response' }
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
    throw new McpTransportError(415, TRANSPORT_ERROR, 'Send the message with "Content-Type: application/json".');
  }
  const body = await readRawBody(ctx, BODY_LIMIT_BYTES).catch(() => {
    throw new McpTransportError(413, TRANSPORT_ERROR, `A message must have at most ${BODY_LIMIT_BYTES} bytes.`);
  });
  const text = body.toString('utf8');
  const message = tryParseBoundedJson(text, MESSAGE_DEPTH_MAX);
  // As in REST bodies. The library would drop the field and serve the request without it.
  if (message !== undefined && namesPrototype(text))
    throw new McpTransportError(400, INVALID_REQUEST, PROTOTYPE_DETAIL, undefined, readMessageId(message));
  return message;
}

/**
 * Validates a message and determines its kind and protocol version.
 * @throws McpTransportError 400
 */
export function classifyMessage(ctx: Context, body: unknown): InboundMessage {
  if (body === undefined) throw new McpTransportError(400, PARSE_ERROR, 'The body must be valid JSON.');
  if (Array.isArray(body))
    throw new McpTransportError(400, INVALID_REQUEST, 'Batches are not supported: send one message per request.');
  const version = getHeader(ctx, 'mcp-protocol-version');
  const hasSessions = version === undefined || SUPPORTED_PROTOCOL_VERSIONS.includes(version);
  if (hasSessions && isPlainCall(body)) return { kind: 'request', message: body };
  const classified = classifyInboundRequest({
    httpMethod: 'POST',
    protocolVersionHeader: version,
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

/** Reads the id of a message that may be invalid. */
export function readMessageId(body: unknown): string | number | null {
  const id = (body as { id?: unknown } | null | undefined)?.id;
  return typeof id === 'string' || typeof id === 'number' ? id : null;
}

export function getHeader(ctx: Context, name: string): string | undefined {
  const value = ctx.headers[name];
  return typeof value === 'string' ? value : undefined;
}
