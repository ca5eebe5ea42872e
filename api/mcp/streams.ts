import type { Redis } from 'ioredis';
import { logger } from '../../shared/lib/logger.ts';
import { connectForWaiting } from '../../shared/lib/redis.ts';
import { randomHex } from '../../shared/lib/secrets.ts';
import { perService } from '../../shared/lib/serviceScope.ts';
import { MCP_KEEP_ALIVE_MS } from '../../shared/spec/limits.ts';
import type { Context } from '../context.ts';
import { eventsAfter, lastWritten, noteWritten, takeStream } from './events.ts';
import { openEventStream } from './eventStream.ts';
import type { Session } from './sessions.ts';
import { countStream } from './openStreams.ts';
import { inStore, newsChannel } from './store.ts';

/** The first version whose clients understand an event without data. */
const PRIMING_SINCE = '2025-11-25';

const state = perService(() => ({
  /** The wake-up functions of the open streams, by session. */
  open: new Map<string, Set<() => void>>(),
  subscriber: undefined as Redis | undefined,
  isStopping: false,
}));

/** Starts listening for what there is for sessions; call once, in a process that serves streams. */
export async function listenForNews(): Promise<void> {
  const subscriber = connectForWaiting('mcp-listener');
  state().subscriber = subscriber;
  subscriber.on('message', (_channel: string, sessionId: string) => {
    for (const wake of state().open.get(sessionId) ?? []) wake();
  });
  const subscribed = subscriber.subscribe(newsChannel()).catch(() => undefined);
  await Promise.race([subscribed, new Promise((resolve) => setTimeout(resolve, 2_000))]);
}

/** Ends all streams, for a process that stops: their clients go on with them at another one. */
export function endStreams(): void {
  state().isStopping = true;
  for (const wakers of state().open.values()) for (const wake of wakers) wake();
}

export function stopListeningForNews(): void {
  state().subscriber?.disconnect();
}

/**
 * Serves a session's event stream until its client leaves, another stream takes its place, the session is over, or the
 * process stops. What is sent is read from the session's log in Redis, so that any process can go on with it.
 * @param lastEventId the last event that the client has seen; without it, it gets what no stream has carried yet.
 * @param requireWelcome throws once the client's credentials are no longer valid.
 */
export async function serveEvents(
  ctx: Context,
  session: Session,
  lastEventId: string | null,
  requireWelcome: () => Promise<void>,
): Promise<void> {
  const token = randomHex(8);
  const uncount = countStream(session.accountId);
  let position = await inStore(async () => {
    await takeStream(session.id, token);
    return lastEventId ?? lastWritten(session.id);
  }).catch((error: unknown) => {
    uncount();
    throw error;
  });
  let checkedAt = performance.now();
  const stream = openEventStream(ctx);
  const bell = ringable(session.id);
  void stream.closed.then(bell.ring);
  stream.retry();
  if (session.version >= PRIMING_SINCE) stream.send('', position);
  try {
    while (stream.isOpen() && !state().isStopping) {
      const rung = bell.rungWithin(MCP_KEEP_ALIVE_MS);
      const events = await eventsAfter(session.id, token, position).catch(() => []);
      if (events === null) break;
      for (const { id, message } of events) {
        stream.send(message, id);
        position = id;
      }
      if (events.length > 0) await noteWritten(session.id, position).catch(() => {});
      if (!(await rung)) stream.comment();
      if (performance.now() - checkedAt < MCP_KEEP_ALIVE_MS - 100) continue;
      checkedAt = performance.now();
      await requireWelcome();
    }
  } catch (error) {
    logger.debug({ error: (error as Error).message }, 'an event stream was ended');
  } finally {
    uncount();
    bell.remove();
    stream.end();
    await stream.closed;
  }
}

const NOBODY = () => {};

/** Wakes one stream of a session. A ring that comes while nobody waits is not lost. */
function ringable(sessionId: string) {
  const { open } = state();
  const bells = open.get(sessionId) ?? new Set();
  open.set(sessionId, bells);
  let hasRung = false;
  let wake = NOBODY;
  const ring = () => {
    hasRung = true;
    wake();
  };
  bells.add(ring);
  return {
    ring,
    /** Whether it rang before so many milliseconds were over. */
    rungWithin: (milliseconds: number) =>
      new Promise<boolean>((resolve) => {
        const settle = () => {
          clearTimeout(timer);
          wake = NOBODY;
          const answer = hasRung;
          hasRung = false;
          resolve(answer);
        };
        const timer = setTimeout(settle, milliseconds);
        wake = settle;
        if (hasRung) settle();
      }),
    remove: () => {
      bells.delete(ring);
      if (bells.size === 0) open.delete(sessionId);
      wake();
    },
  };
}
