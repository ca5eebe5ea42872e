import type { JSONRPCNotification, JSONRPCRequest, JSONRPCResponse, RequestId } from '@modelcontextprotocol/server';
import { perService } from '../../../shared/lib/serviceScope.ts';
import { MCP_KEEP_ALIVE_MS } from '../../../shared/spec/limits.ts';
import type { Context } from '../../context.ts';
import type { McpRequestContext } from '../requestContext.ts';
import { type SseStream, openSseStream } from './sse.ts';
import { createMultiplexer } from './multiplexer.ts';
import { TRANSPORT_ERROR, McpTransportError } from './transportError.ts';
import { buildServer } from '../server.ts';

/** An answer that is not there by then goes out as an event stream, so that nobody on the way takes it for dead. */
const SSE_UPGRADE_AFTER_MS = 5_000;

/** The one server of this process, for all sessions. */
const multiplexer = perService(() => createMultiplexer(buildServer()));

/** Requests under way here that can be cancelled, by session and the client's own id. */
const inFlightNumbers = perService(() => new Map<string, number>());

/** Answers that may yet become event streams. One timer looks at all of them: most are gone by then. */
const pendingSse = perService(() => new Set<{ since: number; begin: () => unknown }>());

/** Starts turning answers that take long into event streams. @returns what stops it. */
export function startSseUpgrades(): () => void {
  const timer = setInterval(() => {
    const due = performance.now() - SSE_UPGRADE_AFTER_MS;
    for (const waiting of pendingSse()) {
      // The oldest come first.
      if (waiting.since > due) break;
      pendingSse().delete(waiting);
      waiting.begin();
    }
  }, 1_000);
  return () => clearInterval(timer);
}

/** In which forms a client takes its answer. */
export interface AcceptedTypes {
  json: boolean;
  sse: boolean;
}

/**
 * The forms that the Accept header allows. Clients are to allow both; one that allows one gets that.
 * @throws Refusal 406
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

/**
 * Has the server answer a request: as JSON, or where there is something to say before, or it takes its time, as an event
 * stream.
 * @param beforeResponse is run when the answer is there, and may still set headers.
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
      const keepAlive = setInterval(() => opened.sendKeepAlive(), MCP_KEEP_ALIVE_MS);
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
  const response = await pending.response;
  pendingSse().delete(upgrade);
  if (inFlightNumbers().get(key) === pending.number) inFlightNumbers().delete(key);
  if (response !== null) await beforeResponse?.(response);
  if (stream === undefined && accepted.json) {
    // A request that was cancelled is not answered.
    ctx.body = response;
    if (response === null) ctx.status = 202;
    return;
  }
  const open = upgradeToSse();
  if (response !== null) open.send(JSON.stringify(response));
  open.end();
  await open.closed;
}

/** Hands a notification to the server. */
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
