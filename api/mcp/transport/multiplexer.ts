import {
  type CallToolResult,
  INVALID_PARAMS,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type JSONRPCResponse,
  ProtocolErrorCode,
  type RequestId,
  type Server,
  type Transport,
} from '@modelcontextprotocol/server';
import { type McpRequestContext, toAuthInfo } from '../requestContext.ts';
import { callTool } from '../tools/callTool.ts';
import { findTool } from '../tools/index.ts';
import { isPlainCall, type PlainCall } from './plainCall.ts';

interface InFlightRequest {
  /** Id that the client gave the request. */
  id: RequestId;
  notify(message: JSONRPCNotification): void;
  settle(response: JSONRPCResponse | null): void;
}

interface PendingRequest {
  /** Number under which the server knows the request; cancels it. */
  number: number;
  /** Resolves to null when the request is cancelled. */
  response: Promise<JSONRPCResponse | null>;
}

interface Multiplexer {
  /** Passes a request to the server. @param notify receives the notifications that the server sends before it responds. */
  request(
    message: JSONRPCRequest,
    requestContext: McpRequestContext,
    notify: (message: JSONRPCNotification) => void,
  ): PendingRequest;
  notify(message: JSONRPCNotification): void;
  /** Aborts a request. It gets no response. */
  cancel(number: number): void;
}

/**
 * Connects one server to all clients. The library sees a single connection on which every request has a unique number;
 * the client's own id and the receiver of the response are kept until the response arrives. Building a server for each
 * session or request would cost more than serving it. A plain call does not need the library at all.
 */
export async function createMultiplexer(server: Server): Promise<Multiplexer> {
  const inFlight = new Map<RequestId, InFlightRequest>();
  let lastNumber = 0;

  async function send(message: JSONRPCMessage, options?: { relatedRequestId?: RequestId }): Promise<void> {
    if ('method' in message) {
      inFlight.get(options?.relatedRequestId ?? -1)?.notify(message);
      return;
    }
    const number = message.id as RequestId;
    const request = inFlight.get(number);
    inFlight.delete(number);
    request?.settle(toLegacyErrorCode({ ...message, id: request.id }));
  }

  const transport: Transport = { start: async () => {}, close: async () => {}, send };
  await server.connect(transport);
  const receive = (message: JSONRPCMessage, requestContext?: McpRequestContext) =>
    transport.onmessage?.(message, requestContext === undefined ? undefined : { authInfo: toAuthInfo(requestContext) });

  return {
    request: (message, requestContext, notify) => {
      lastNumber += 1;
      const number = lastNumber;
      const response = new Promise<JSONRPCResponse | null>((settle, reject) => {
        inFlight.set(number, { id: message.id, notify, settle });
        if (isPlainCall(message) && canCallDirectly(message, requestContext)) {
          void callDirectly(message, requestContext, () => !inFlight.has(number))
            .then((result) => settle({ result, jsonrpc: '2.0', id: message.id }), reject)
            .finally(() => inFlight.delete(number));
        } else {
          receive({ ...message, id: number }, requestContext);
        }
      });
      return { number, response };
    },
    notify: (message) => receive(message),
    cancel: (number) => {
      receive({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: number } });
      inFlight.get(number)?.settle(null);
      inFlight.delete(number);
    },
  };
}

/** Returns whether a tool can be called without the library, which the errors of unknown tools and URL elicitation need. */
function canCallDirectly({ params }: PlainCall, { elicitsUrls }: McpRequestContext): boolean {
  return findTool(params.name) !== undefined && !elicitsUrls;
}

/** Calls a tool without the library, with the same result. */
function callDirectly(
  { params }: PlainCall,
  requestContext: McpRequestContext,
  isCancelled: () => boolean,
): Promise<CallToolResult> {
  return callTool(params.name, params.arguments, {
    requestContext,
    meta: undefined,
    isCancelled,
    // Only calls with a progress token have notifications.
    notify: async () => {},
    hasInputResponses: false,
  }) as Promise<CallToolResult>;
}

/**
 * Restores the error code for a missing resource. The library uses the code of the stateless version; versions with
 * sessions have their own (MCP 2025-11-25: Resources, Error Handling).
 */
function toLegacyErrorCode(response: JSONRPCResponse): JSONRPCResponse {
  if (!('error' in response) || response.error.code !== INVALID_PARAMS) return response;
  const { data } = response.error as { data?: { uri?: unknown } };
  if (data?.uri === undefined) return response;
  return { ...response, error: { ...response.error, code: ProtocolErrorCode.ResourceNotFound } };
}
