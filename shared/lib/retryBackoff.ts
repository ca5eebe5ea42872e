import { addMilliseconds, now } from './clock.ts';

/** When to retry work that started then: after a quarter of its age, between `minMs` and `maxMs`. */
export function getNextAttemptByAge(startedAt: Date, { minMs, maxMs }: { minMs: number; maxMs: number }): Date {
  const ageMs = now().getTime() - startedAt.getTime();
  return addMilliseconds(now(), Math.min(maxMs, Math.max(minMs, ageMs / 4)));
}
