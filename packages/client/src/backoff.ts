const BASE_DELAY_MS = 500;
const MAX_BACKOFF_MS = 8_000;
/** The longest `Retry-After` that is waited for; the rate limits of the service reset within a minute. */
export const MAX_RETRY_AFTER_MS = 60_000;

/**
 * Computes the pause before the next attempt: exponential back-off with jitter, but no less than the service asked for.
 * Undefined if the service asked for more than a minute.
 */
export function computeRetryDelay(attempt: number, retryAfterMs: number | undefined): number | undefined {
  if (retryAfterMs !== undefined && retryAfterMs > MAX_RETRY_AFTER_MS) return undefined;
  const ceiling = Math.min(MAX_BACKOFF_MS, BASE_DELAY_MS * 2 ** attempt);
  const backoff = ceiling * (0.5 + Math.random() / 2);
  if (retryAfterMs === undefined) return backoff;
  // Spreads the clients that were rejected together.
  return Math.max(backoff, retryAfterMs + Math.random() * BASE_DELAY_MS);
}

/** Parses `Retry-After`: seconds, or a date. */
export function parseRetryAfter(value: string | null): number | undefined {
  if (value === null) return undefined;
  const ms = /^\d+$/.test(value.trim()) ? Number(value) * 1_000 : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

/**
 * Resolves after a time.
 * @throws the reason of the signal when it aborts.
 */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(signal.reason as Error);
      return;
    }
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', abort, { once: true });
  });
}
