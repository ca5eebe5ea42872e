import { EventEmitter } from 'node:events';
import { connectForBlocking, subscribeToChannel } from '../../../shared/lib/redis.ts';
import { randomHex } from '../../../shared/lib/secrets.ts';
import { perService } from '../../../shared/lib/serviceScope.ts';
import type { Context } from '../../context.ts';
import { eventsChannel, withMcpRedis } from '../redis.ts';
import { claimStream, getLastSentEventId, type McpSession, readEventsAfter, saveLastSentEventId } from './session.ts';
import { openSseStream, withStreamSlot } from './sse.ts';

/** First version whose clients accept an event without data. */
const PRIMING_EVENT_SINCE = '2025-11-25';
/** Reconnection time that clients are asked to use. */
const RETRY_MS = 1_000;
/** Interval at which an open stream reads its events without a notification, which also keeps its session alive. */
const READ_INTERVAL_MS = 10_000;

const state = perService(() => ({
  /** Emits the id of a session whose streams have to read their events. */
  wakes: new EventEmitter().setMaxListeners(0),
  isStopping: false,
}));

/** Subscribes to the channel of new session events. Called once per process. @returns a function that unsubscribes. */
export async function subscribeToEvents(): Promise<() => void> {
  const subscriber = connectForBlocking('mcp-listener');
  const { wakes } = state();
  subscriber.on('message', (_channel: string, sessionId: string) => wakes.emit(sessionId));
  await subscribeToChannel(subscriber, eventsChannel());
  return () => subscriber.disconnect();
}

/** Ends all streams of a process that shuts down. Clients resume them on another process. */
export function closeSessionStreams(): void {
  const { wakes } = state();
  state().isStopping = true;
  for (const sessionId of wakes.eventNames()) wakes.emit(sessionId);
}

/**
 * Serves a session's event stream until the client disconnects, another stream is claimed, the session ends, or the
 * process shuts down. Events are read from Redis, so that any process can resume the stream.
 * @param lastEventId the last event that the client received; null for the events that no stream has carried yet.
 */
export async function serveSessionStream(ctx: Context, session: McpSession, lastEventId: string | null): Promise<void> {
  await withStreamSlot(ctx, async () => {
    const token = randomHex(8);
    let position = await withMcpRedis(async () => {
      await claimStream(session.id, token);
      return lastEventId ?? getLastSentEventId(session.id);
    });
    const { wakes } = state();
    const wake = () => wakes.emit(session.id);
    const reading = setInterval(wake, READ_INTERVAL_MS);
    const stream = openSseStream(ctx);
    void stream.closed.then(wake);
    stream.sendRetry(RETRY_MS);
    if (session.version >= PRIMING_EVENT_SINCE) stream.send('', position);
    try {
      while (stream.isOpen() && !state().isStopping) {
        // Before the events are read, so that one that arrives meanwhile is read next. Not `once` of `node:events`,
        // which listens for errors as well: these would be a session to wake.
        const woken = new Promise<void>((resolve) => wakes.once(session.id, () => resolve()));
        const events = await readEventsAfter(session, token, position).catch(() => []);
        if (events === null) break;
        for (const { id, message } of events) {
          stream.send(message, id);
          position = id;
        }
        if (events.length > 0) await saveLastSentEventId(session.id, position).catch(() => {});
        await woken;
      }
    } finally {
      clearInterval(reading);
      stream.end();
      await stream.closed;
    }
  });
}
