import { mock } from 'node:test';
import { type BatcherOptions, createBatcher } from '../../shared/lib/batcher.ts';

/** A batcher whose batches end on command of the test. */
export function createObservedBatcher(options: Partial<BatcherOptions<string, string>> = {}) {
  const batches: { items: string[]; end: () => void; fail: (error: Error) => void }[] = [];
  const submit = createBatcher<string, string>({
    maxItems: 3,
    maxInFlight: 1,
    run: (items) =>
      new Promise((resolve, reject) => {
        batches.push({ items, end: () => resolve(items.map((item) => `${item}!`)), fail: reject });
      }),
    ...options,
  });
  return { submit, batches, seen: () => batches.map(({ items }) => items) };
}

/**
 * Replaces the clock and the timers of the tests of the current suite.
 * @returns a function that advances them.
 */
export function mockClock(): (ms: number) => void {
  let nowMs = 1_000;
  beforeEach(() => {
    mock.timers.enable({ apis: ['setTimeout'] });
    mock.method(performance, 'now', () => nowMs);
  });
  afterEach(() => {
    mock.timers.reset();
    mock.restoreAll();
  });
  return (ms) => {
    nowMs += ms;
    mock.timers.tick(ms);
  };
}
