import {
  INVALID_PARAMS,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type JSONRPCResponse,
  type Notification,
  ProtocolError,
  ProtocolErrorCode,
  type RequestId,
  specTypeSchemas,
  type Transport,
} from '@modelcontextprotocol/server';
import { perService } from '../../../shared/lib/serviceScope.ts';
import type { Context } from '../../context.ts';
import { type McpRequestContext, requireConnection, toAuthInfo } from '../requestContext.ts';
import { buildServer } from '../server.ts';
import { callTool } from '../tools/callTool.ts';
import type { AcceptedTypes } from './message.ts';
import { openSseStream, type SseStream } from './sse.ts';

/** A response that takes longer becomes an event stream, so that proxies do not close the connection as idle. */
const SSE_UPGRADE_AFTER_MS = 5_000;

/**
 * Serves a request of a version with sessions, and sends the response: as JSON, or as an event stream when the server
 * sends a notification first or takes long.
 * @param beforeResponse runs before the response is sent, and may still set headers.
 */
export async function handleMcpRequest(
  ctx: Context,
  message: JSONRPCRequest,
  requestContext: McpRequestContext,
  accepted: AcceptedTypes,
  beforeResponse?: (response: JSONRPCResponse) => Promise<void>,
): Promise<void> {
  let stream: SseStream | undefined;
  const upgradeToSse = () => (stream ??= openSseStream(ctx));
  const mayUpgrade = accepted.sse && beforeResponse === undefined;
  const upgradeTimer = mayUpgrade ? setTimeout(upgradeToSse, SSE_UPGRADE_AFTER_MS) : undefined;
  const response = await withCancellation(requestContext.sessionId, message.id, (isCancelled) => {
    if (message.method !== 'tools/call') return askLibrary(message, requestContext);
    const notify = (notification: JSONRPCNotification) => {
      if (accepted.sse && !isCancelled()) upgradeToSse().send(JSON.stringify(notification));
    };
    return answerToolCall(message, requestContext, notify, isCancelled);
  }).finally(() => clearTimeout(upgradeTimer));
  if (stream === undefined) requireConnection(requestContext);
  if (response !== null) await beforeResponse?.(response);
  if (stream === undefined && accepted.json) {
    // A cancelled request has no response.
    ctx.body = response;
    if (response === null) ctx.status = 202;
    return;
  }
  const open = upgradeToSse();
  if (response !== null) open.send(JSON.stringify(response));
  open.end();
  await open.closed;
}

/** Functions that cancel the requests in progress, by session and the client's id. */
const cancellations = perService(() => new Map<string, () => void>());

/** Returns the response to a request, or null once {@link cancelRequest} cancels it. */
function withCancellation(
  sessionId: string | null,
  id: RequestId,
  answer: (isCancelled: () => boolean) => Promise<JSONRPCResponse>,
): Promise<JSONRPCResponse | null> {
  const key = buildRequestKey(sessionId, id);
  let isCancelled = false;
  return new Promise((resolve, reject) => {
    const cancel = () => {
      isCancelled = true;
      resolve(null);
    };
    cancellations().set(key, cancel);
    const end = () => {
      // Some clients use an id again before its request has ended.
      if (cancellations().get(key) === cancel) cancellations().delete(key);
    };
    answer(() => isCancelled)
      .finally(end)
      .then(resolve, reject);
  });
}

/** Cancels a request of a session, if this process serves it. It gets no response. */
export function cancelRequest(sessionId: string, id: RequestId): void {
  cancellations().get(buildRequestKey(sessionId, id))?.();
}

/** Builds a key in which the number 1 and the text "1" are different ids. */
function buildRequestKey(sessionId: string | null, id: RequestId): string {
  return `${sessionId} ${typeof id} ${id}`;
}

/**
 * Calls a tool with the same response as the library's, which validates each message seven times: that would take half
 * of the time of a call.
 */
async function answerToolCall(
  message: JSONRPCRequest,
  requestContext: McpRequestContext,
  notify: (notification: JSONRPCNotification) => void,
  isCancelled: () => boolean,
): Promise<JSONRPCResponse> {
  const { jsonrpc, id } = message;
  try {
    const checked = specTypeSchemas.CallToolRequest['~standard'].validate(message);
    if (checked.issues !== undefined) {
      const problem = JSON.stringify(checked.issues, null, 2);
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Invalid tools/call request: ${problem}`);
    }
    const { name, arguments: input, _meta } = checked.value.params;
    const call = { id, _meta, isCancelled, notify: async (sent: Notification) => notify({ ...sent, jsonrpc }) };
    return { result: await callTool(name, input, requestContext, call), jsonrpc, id };
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    const { code, message: detail, data } = error;
    return { jsonrpc, id, error: { code, message: detail, data } };
  }
}

/** Passes a request that is not a tool call to a server of the library, on a connection of its own. */
function askLibrary(message: JSONRPCRequest, requestContext: McpRequestContext): Promise<JSONRPCResponse> {
  return new Promise((resolve, reject) => {
    const transport: Transport = {
      start: async () => {},
      close: async () => {},
      send: async (sent) => {
        if (!('method' in sent)) resolve(toSessionErrorCode(sent));
      },
    };
    const authInfo = toAuthInfo(requestContext);
    buildServer()
      .connect(transport)
      .then(() => transport.onmessage?.(message, { authInfo }), reject);
  });
}

/**
 * Restores the error code for a missing resource. The library uses the code of the stateless version; versions with
 * sessions have their own (MCP 2025-11-25: Resources, Error Handling).
 */
function toSessionErrorCode(response: JSONRPCResponse): JSONRPCResponse {
  if (!('error' in response) || response.error.code !== INVALID_PARAMS) return response;
  const { data } = response.error as { data?: { uri?: unknown } };
  if (data?.uri === undefined) return response;
  return { ...response, error: { ...response.error, code: ProtocolErrorCode.ResourceNotFound } };
}
