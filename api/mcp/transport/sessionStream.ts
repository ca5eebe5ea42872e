import { logger } from '../../../shared/lib/logger.ts';
import { connectForBlocking, type RedisClient, subscribeToChannel } from '../../../shared/lib/redis.ts';
import { randomHex } from '../../../shared/lib/secrets.ts';
import { perService } from '../../../shared/lib/serviceScope.ts';
import { KEEP_ALIVE_INTERVAL_MS, REVALIDATION_INTERVAL_MS } from './sse.ts';
import type { Context } from '../../context.ts';
import { eventsChannel, withMcpRedis } from '../redis.ts';
import { claimStream, getLastSentEventId, type McpSession, readEventsAfter, saveLastSentEventId } from './session.ts';
import { acquireStreamSlot, openSseStream } from './sse.ts';

/** First version whose clients accept an event without data. */
const PRIMING_EVENT_SINCE = '2025-11-25';

const state = perService(() => ({
  /** Wake-up functions of the open streams, by session. */
  open: new Map<string, Set<() => void>>(),
  subscriber: undefined as RedisClient | undefined,
  isStopping: false,
}));

/** Subscribes to the channel of new session events. Called once per process. */
export async function subscribeToEvents(): Promise<void> {
  const subscriber = connectForBlocking('mcp-listener');
  state().subscriber = subscriber;
  subscriber.on('message', (_channel: string, sessionId: string) => {
    for (const wake of state().open.get(sessionId) ?? []) wake();
  });
  await subscribeToChannel(subscriber, eventsChannel());
}

/** Ends all streams of a process that shuts down. Clients resume them on another process. */
export function closeSessionStreams(): void {
  state().isStopping = true;
  for (const wakers of state().open.values()) for (const wake of wakers) wake();
}

export function unsubscribeFromEvents(): void {
  state().subscriber?.disconnect();
}

/**
 * Serves a session's event stream until the client disconnects, another stream is claimed, the session ends, or the
 * process shuts down. Events are read from Redis, so that any process can resume the stream.
 * @param lastEventId the last event that the client received; null for the events that no stream has carried yet.
 * @param revalidate throws when the client's credential is no longer valid.
 */
export async function serveSessionStream(
  ctx: Context,
  session: McpSession,
  lastEventId: string | null,
  revalidate: () => Promise<void>,
): Promise<void> {
  const token = randomHex(8);
  const releaseSlot = acquireStreamSlot(session.accountId);
  let position = await withMcpRedis(async () => {
    await claimStream(session.id, token);
    return lastEventId ?? getLastSentEventId(session.id);
  }).catch((error: unknown) => {
    releaseSlot();
    throw error;
  });
  let checkedAt = performance.now();
  let sentAt = checkedAt;
  const stream = openSseStream(ctx);
  const notifier = createNotifier(session.id);
  void stream.closed.then(notifier.notify);
  stream.sendRetry();
  if (session.version >= PRIMING_EVENT_SINCE) stream.send('', position);
  try {
    while (stream.isOpen() && !state().isStopping) {
      const nextAt = Math.min(sentAt + KEEP_ALIVE_INTERVAL_MS, checkedAt + REVALIDATION_INTERVAL_MS);
      const notified = notifier.waitFor(Math.max(0, nextAt - performance.now()));
      const events = await readEventsAfter(session, token, position).catch(() => []);
      if (events === null) break;
      for (const { id, message } of events) {
        stream.send(message, id);
        position = id;
      }
      if (events.length > 0) await saveLastSentEventId(session.id, position).catch(() => {});
      if (events.length > 0) sentAt = performance.now();
      await notified;
      if (performance.now() >= sentAt + KEEP_ALIVE_INTERVAL_MS) {
        stream.sendKeepAlive();
        sentAt = performance.now();
      }
      if (performance.now() < checkedAt + REVALIDATION_INTERVAL_MS) continue;
      checkedAt = performance.now();
      await revalidate();
    }
  } catch (error) {
    logger.debug({ err: error }, 'event stream ended');
  } finally {
    releaseSlot();
    notifier.remove();
    stream.end();
    await stream.closed;
  }
}

const NOOP = () => {};

/** Wakes one stream of a session. A notification that arrives while the stream is not waiting is kept for the next wait. */
function createNotifier(sessionId: string) {
  const { open } = state();
  const notifiers = open.get(sessionId) ?? new Set();
  open.set(sessionId, notifiers);
  let isNotified = false;
  let wake = NOOP;
  const notify = () => {
    isNotified = true;
    wake();
  };
  notifiers.add(notify);
  return {
    notify,
    /** Resolves to true when notified, or to false after the timeout. */
    waitFor: (timeoutMs: number) =>
      new Promise<boolean>((resolve) => {
        const settle = () => {
          clearTimeout(timer);
          wake = NOOP;
          const wasNotified = isNotified;
          isNotified = false;
          resolve(wasNotified);
        };
        const timer = setTimeout(settle, timeoutMs);
        wake = settle;
        if (isNotified) settle();
      }),
    remove: () => {
      notifiers.delete(notify);
      if (notifiers.size === 0) open.delete(sessionId);
      wake();
    },
  };
}
