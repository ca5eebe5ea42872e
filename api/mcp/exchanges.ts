import type { JSONRPCNotification, JSONRPCRequest, JSONRPCResponse, RequestId } from '@modelcontextprotocol/server';
import { perService } from '../../shared/lib/serviceScope.ts';
import { MCP_KEEP_ALIVE_MS } from '../../shared/spec/limits.ts';
import type { Context } from '../context.ts';
import type { Call } from './call.ts';
import { type EventStream, openEventStream } from './eventStream.ts';
import { createMultiplexer } from './multiplexer.ts';
import { BAD_TRANSPORT, Refusal } from './refusal.ts';
import { buildServer } from './server.ts';

/** An answer that is not there by then goes out as an event stream, so that nobody on the way takes it for dead. */
const PATIENCE_MS = 5_000;

/** The one server of this process, for all sessions. */
const multiplexer = perService(() => createMultiplexer(buildServer()));

/** Requests under way here that can be cancelled, by session and the client's own id. */
const underWay = perService(() => new Map<string, number>());

/** Answers that may yet become event streams. One timer looks at all of them: most are gone by then. */
const impatient = perService(() => new Set<{ since: number; begin: () => unknown }>());

/** Starts turning answers that take long into event streams. @returns what stops it. */
export function startPendingStreams(): () => void {
  const timer = setInterval(() => {
    const due = performance.now() - PATIENCE_MS;
    for (const waiting of impatient()) {
      // The oldest come first.
      if (waiting.since > due) break;
      impatient().delete(waiting);
      waiting.begin();
    }
  }, 1_000);
  return () => clearInterval(timer);
}

/** In which forms a client takes its answer. */
export interface Forms {
  json: boolean;
  events: boolean;
}

/**
 * The forms that the Accept header allows. Clients are to allow both; one that allows one gets that.
 * @throws Refusal 406
 */
export function formsOf(ctx: Context): Forms {
  const accept = ctx.get('accept');
  const isOpen = accept === '' || accept.includes('*/*');
  const forms = {
    json: isOpen || /application\/(\*|json)/.test(accept),
    events: isOpen || /text\/(\*|event-stream)/.test(accept),
  };
  if (forms.json || forms.events) return forms;
  throw new Refusal(406, BAD_TRANSPORT, 'Send "Accept: application/json, text/event-stream".');
}

/**
 * Has the server answer a request: as JSON, or where there is something to say before, or it takes its time, as an event
 * stream.
 * @param beforeAnswer is run when the answer is there, and may still set headers.
 */
export async function exchange(
  ctx: Context,
  message: JSONRPCRequest,
  call: Call,
  forms: Forms,
  beforeAnswer?: (answer: JSONRPCResponse) => Promise<void>,
): Promise<void> {
  let stream: EventStream | undefined;
  const streaming = () => {
    if (stream === undefined) {
      const opened = openEventStream(ctx);
      stream = opened;
      const keepAlive = setInterval(() => opened.comment(), MCP_KEEP_ALIVE_MS);
      void opened.closed.then(() => clearInterval(keepAlive));
    }
    return stream;
  };
  const notify = (notification: JSONRPCNotification) => {
    if (forms.events) streaming().send(JSON.stringify(notification));
  };
  const asked = (await multiplexer()).ask(message, call, notify);
  const name = nameOf(call.sessionId, message.id);
  underWay().set(name, asked.number);
  const waiting = { since: performance.now(), begin: streaming };
  if (forms.events && beforeAnswer === undefined) impatient().add(waiting);
  const answer = await asked.answer;
  impatient().delete(waiting);
  if (underWay().get(name) === asked.number) underWay().delete(name);
  if (answer !== null) await beforeAnswer?.(answer);
  if (stream === undefined && forms.json) {
    // A request that was cancelled is not answered.
    ctx.body = answer;
    if (answer === null) ctx.status = 202;
    return;
  }
  const open = streaming();
  if (answer !== null) open.send(JSON.stringify(answer));
  open.end();
  await open.closed;
}

/** Hands a notification to the server. */
export async function take(message: JSONRPCNotification, sessionId: string | null): Promise<void> {
  if (message.method !== 'notifications/cancelled') {
    (await multiplexer()).tell(message);
    return;
  }
  const number = underWay().get(nameOf(sessionId, message.params?.['requestId'] as RequestId));
  if (number !== undefined) (await multiplexer()).cancel(number);
}

function nameOf(sessionId: string | null, id: RequestId): string {
  return `${sessionId} ${typeof id} ${id}`;
}
