import {
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

/** One request on its way through the server. */
interface InFlightRequest {
  /** As its client numbered it. */
  id: RequestId;
  notify(message: JSONRPCNotification): void;
  settle(answer: JSONRPCResponse | null): void;
}

/** A request that the server is at work on. */
export interface PendingRequest {
  /** The number that it can be cancelled by. */
  number: number;
  /** Null where it was cancelled. */
  response: Promise<JSONRPCResponse | null>;
}

export interface Multiplexer {
  /** Hands a request to the server. @param notify takes what the server has to say before it answers. */
  request(
    message: JSONRPCRequest,
    call: McpRequestContext,
    notify: (message: JSONRPCNotification) => void,
  ): PendingRequest;
  notify(message: JSONRPCNotification): void;
  /** Ends the work on a request, which is then not answered. */
  cancel(number: number): void;
}

/**
 * The library says of a missing resource what the stateless era says. Before, there was a code for it (MCP 2025-11-25:
 * Resources, Error Handling).
 */
function toLegacyErrorCode(response: JSONRPCResponse): JSONRPCResponse {
  if (!('error' in response) || response.error.code !== INVALID_PARAMS) return response;
  const { data } = response.error as { data?: { uri?: unknown } };
  if (data?.uri === undefined) return response;
  return { ...response, error: { ...response.error, code: ProtocolErrorCode.ResourceNotFound } };
}

/**
 * Connects one server to all clients at once. To the library it is a single connection, of which every message has a
 * number that occurs once; what a client called it, and where its answer goes, is remembered until it has been answered.
 * A server for each session, or for each request, would spend most of its time on being built.
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
    const exchange = inFlight.get(number);
    inFlight.delete(number);
    exchange?.settle(toLegacyErrorCode({ ...message, id: exchange.id }));
  }

  const transport: Transport = { start: async () => {}, close: async () => {}, send };
  await server.connect(transport);
  const receive = (message: JSONRPCMessage, call?: McpRequestContext) =>
    transport.onmessage?.(message, call === undefined ? undefined : { authInfo: toAuthInfo(call) });

  return {
    request: (message, call, notify) => {
      lastNumber += 1;
      const number = lastNumber;
      const response = new Promise<JSONRPCResponse | null>((settle) => {
        inFlight.set(number, { id: message.id, notify, settle });
      });
      receive({ ...message, id: number }, call);
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
