import { perService } from '../../../shared/lib/serviceScope.ts';
import { ServiceError } from '../../../shared/spec/errors.ts';
import { type Context, requireCaller } from '../../context.ts';
import { revalidateCredentials } from '../authenticate.ts';

/** Maximum number of open event streams of an account in this process. */
const STREAMS_PER_ACCOUNT_MAX = 32;
/** Interval of keep-alive comments on an event stream. */
const KEEP_ALIVE_INTERVAL_MS = 15_000;
/** Interval at which the credential of an open stream is checked again, so that it ends within 15 s of its end. */
const REVALIDATION_INTERVAL_MS = 10_000;

/** Starts an event stream as the response to a request. Comments keep the connection open at clients and proxies. */
export function openSseStream(ctx: Context) {
  const { res } = ctx;
  ctx.status = 200;
  ctx.respond = false;
  ctx.set('content-type', 'text/event-stream');
  ctx.set('cache-control', 'no-cache, no-transform');
  ctx.set('x-accel-buffering', 'no');
  /** Resolves when either side has closed the stream. */
  const closed = new Promise<void>((resolve) => {
    if (res.closed || res.destroyed) resolve();
    else res.once('close', () => resolve());
  });
  res.flushHeaders();
  const isOpen = () => !res.writableEnded && !res.destroyed;
  const write = (text: string) => {
    if (isOpen()) res.write(text);
  };
  const keepAlive = setInterval(() => write(': keep-alive\n\n'), KEEP_ALIVE_INTERVAL_MS);
  void closed.then(() => clearInterval(keepAlive));
  return {
    send: (data: string, id?: string) =>
      write(`${id === undefined ? '' : `id: ${id}\n`}event: message\ndata: ${data}\n\n`),
    /** Sends the reconnection time. */
    sendRetry: (delayMs: number) => write(`retry: ${delayMs}\n\n`),
    end: () => {
      if (!res.writableEnded) res.end();
    },
    isOpen,
    closed,
  };
}

export type SseStream = ReturnType<typeof openSseStream>;

/** Open event streams of this process, by account. The limit keeps one account from using up all connections. */
const openStreamCounts = perService(() => new Map<number, number>());

/**
 * Serves an event stream that stays open. It is counted, and ends when the credential of its client does.
 * @throws ServiceError rate_limited when the account has too many.
 */
export async function withStreamSlot(ctx: Context, serve: () => Promise<void>): Promise<void> {
  const { accountId } = requireCaller(ctx);
  const open = openStreamCounts();
  const count = open.get(accountId) ?? 0;
  if (count >= STREAMS_PER_ACCOUNT_MAX) {
    const detail = `The account has ${STREAMS_PER_ACCOUNT_MAX} event streams open: close some of them first.`;
    throw new ServiceError('rate_limited', detail, { retryAfterSeconds: 15 });
  }
  open.set(accountId, count + 1);
  const revalidate = () => void revalidateCredentials(ctx).catch(() => ctx.res.end());
  const revalidation = setInterval(revalidate, REVALIDATION_INTERVAL_MS);
  try {
    await serve();
  } finally {
    clearInterval(revalidation);
    const left = (open.get(accountId) ?? 1) - 1;
    if (left === 0) open.delete(accountId);
    else open.set(accountId, left);
  }
}
