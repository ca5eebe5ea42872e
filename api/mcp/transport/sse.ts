import { perService } from '../../../shared/lib/serviceScope.ts';
import { ServiceError } from '../../../shared/spec/errors.ts';
import type { Context } from '../../context.ts';

/** Maximum number of open event streams of an account in this process. */
const STREAMS_PER_ACCOUNT_MAX = 32;
/** Interval of keep-alive messages on an event stream, and of checks that its credentials are still valid. */
export const KEEP_ALIVE_INTERVAL_MS = 15_000;
/** Interval at which the credential of an open stream is checked again, so that it ends within 15 s of its end. */
export const REVALIDATION_INTERVAL_MS = 10_000;

/** Reconnection time that clients are asked to use. */
const SSE_RETRY_MS = 1_000;

/** A response of server-sent events. */
export interface SseStream {
  send(data: string, id?: string): void;
  /** Sends a comment, so that clients and proxies keep the connection open. */
  sendKeepAlive(): void;
  /** Sends the reconnection time. */
  sendRetry(): void;
  end(): void;
  isOpen(): boolean;
  /** Resolves when either side has closed the stream. */
  closed: Promise<void>;
}

/** Starts an event stream as the response to a request. */
export function openSseStream(ctx: Context): SseStream {
  const { res } = ctx;
  ctx.status = 200;
  ctx.respond = false;
  ctx.set('content-type', 'text/event-stream');
  ctx.set('cache-control', 'no-cache, no-transform');
  ctx.set('x-accel-buffering', 'no');
  const closed = new Promise<void>((resolve) => {
    if (res.closed || res.destroyed) resolve();
    else res.once('close', () => resolve());
  });
  res.flushHeaders();
  const write = (text: string) => {
    if (!res.writableEnded && !res.destroyed) res.write(text);
  };
  return {
    send: (data, id) => write(`${id === undefined ? '' : `id: ${id}\n`}event: message\ndata: ${data}\n\n`),
    sendKeepAlive: () => write(': keep-alive\n\n'),
    sendRetry: () => write(`retry: ${SSE_RETRY_MS}\n\n`),
    end: () => {
      if (!res.writableEnded) res.end();
    },
    isOpen: () => !res.closed && !res.destroyed,
    closed,
  };
}

/** Open event streams of this process, by account. The limit keeps one account from using up all connections. */
const openStreamCounts = perService(() => new Map<number, number>());

/**
 * Counts a stream that is about to be opened.
 * @returns a function that releases the slot.
 * @throws ServiceError rate_limited when the account has too many.
 */
export function acquireStreamSlot(accountId: number): () => void {
  const open = openStreamCounts();
  const count = open.get(accountId) ?? 0;
  if (count >= STREAMS_PER_ACCOUNT_MAX) {
    const detail = `The account has ${STREAMS_PER_ACCOUNT_MAX} event streams open: close some of them first.`;
    throw new ServiceError('rate_limited', detail, { retryAfterSeconds: 15 });
  }
  open.set(accountId, count + 1);
  return () => {
    const left = (open.get(accountId) ?? 1) - 1;
    if (left === 0) open.delete(accountId);
    else open.set(accountId, left);
  };
}
