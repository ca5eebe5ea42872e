import { addMilliseconds, now } from './clock.ts';

/** Shortest and longest wait for a retry. */
export interface Backoff {
  minMs: number;
  maxMs: number;
}

/** When to retry work that started then: after a quarter of its age, between `minMs` and `maxMs`. */
export function getNextAttemptByAge(startedAt: Date, { minMs, maxMs }: Backoff): Date {
  const ageMs = now().getTime() - startedAt.getTime();
  return addMilliseconds(now(), Math.min(maxMs, Math.max(minMs, ageMs / 4)));
}

/**
 * Returns the wait before the next attempt: `minMs` after the first failure, twice as long after each, up to `maxMs`.
 */
export function getBackoffMs(earlierFailures: number, { minMs, maxMs }: Backoff): number {
  return Math.min(maxMs, minMs * 2 ** Math.min(earlierFailures, 10));
}
