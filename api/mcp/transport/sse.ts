import type { Context } from '../../context.ts';

/** How long a client waits before it comes back, in milliseconds. */
const SSE_RETRY_MS = 1_000;

/** An answer that goes on: server-sent events. */
export interface SseStream {
  send(data: string, id?: string): void;
  /** Nothing but a sign of life, for the client and for proxies on the way. */
  sendKeepAlive(): void;
  /** How soon to come back once the stream has ended. */
  sendRetry(): void;
  end(): void;
  isOpen(): boolean;
  /** Resolves when it has ended, from whichever side. */
  closed: Promise<void>;
}

/** Begins an event stream as the answer to a request. */
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
