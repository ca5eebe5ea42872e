import type { JSONRPCNotification, JSONRPCRequest, JSONRPCResponse, RequestId } from '@modelcontextprotocol/server';
import { perService } from '../../../shared/lib/serviceScope.ts';
import type { Context } from '../../context.ts';
import { type McpRequestContext, requireConnection } from '../requestContext.ts';
import { buildServer } from '../server.ts';
import type { AcceptedTypes } from './message.ts';
import { createMultiplexer } from './multiplexer.ts';
import { KEEP_ALIVE_INTERVAL_MS, openSseStream, type SseStream } from './sse.ts';

/** A response that takes longer becomes an event stream, so that proxies do not close the connection as idle. */
const SSE_UPGRADE_AFTER_MS = 5_000;

/** The one server of this process, shared by all sessions. */
const multiplexer = perService(() => createMultiplexer(buildServer()));

/** Multiplexer numbers of the requests in progress that can be cancelled, by session and client-side id. */
const inFlightNumbers = perService(() => new Map<string, number>());

/** Responses that may still become event streams, oldest first. One timer checks all of them. */
const pendingSse = perService(() => new Set<{ since: number; begin: () => unknown }>());

/** Starts upgrading slow responses to event streams. @returns a function that stops it. */
export function startSseUpgrades(): () => void {
  const timer = setInterval(() => {
    const due = performance.now() - SSE_UPGRADE_AFTER_MS;
    for (const waiting of pendingSse()) {
      // The set is ordered by age: all others are younger.
      if (waiting.since > due) break;
      pendingSse().delete(waiting);
      waiting.begin();
    }
  }, 1_000);
  return () => clearInterval(timer);
}

/**
 * Passes a request to the server and sends its response: as JSON, or as an event stream when the server sends a
 * notification first or takes long.
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
  const upgradeToSse = () => {
    if (stream === undefined) {
      const opened = openSseStream(ctx);
      stream = opened;
      const keepAlive = setInterval(() => opened.sendKeepAlive(), KEEP_ALIVE_INTERVAL_MS);
      void opened.closed.then(() => clearInterval(keepAlive));
    }
    return stream;
  };
  const notify = (notification: JSONRPCNotification) => {
    if (accepted.sse) upgradeToSse().send(JSON.stringify(notification));
  };
  const pending = (await multiplexer()).request(message, requestContext, notify);
  const key = inFlightKey(requestContext.sessionId, message.id);
  inFlightNumbers().set(key, pending.number);
  const upgrade = { since: performance.now(), begin: upgradeToSse };
  if (accepted.sse && beforeResponse === undefined) pendingSse().add(upgrade);
  const response = await pending.response.finally(() => {
    pendingSse().delete(upgrade);
    if (inFlightNumbers().get(key) === pending.number) inFlightNumbers().delete(key);
  });
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

/** Passes a notification to the server. `notifications/cancelled` cancels a request of the same session. */
export async function handleNotification(message: JSONRPCNotification, sessionId: string | null): Promise<void> {
  if (message.method !== 'notifications/cancelled') {
    (await multiplexer()).notify(message);
    return;
  }
  const number = inFlightNumbers().get(inFlightKey(sessionId, message.params?.['requestId'] as RequestId));
  if (number !== undefined) (await multiplexer()).cancel(number);
}

function inFlightKey(sessionId: string | null, id: RequestId): string {
  return `${sessionId} ${typeof id} ${id}`;
}
