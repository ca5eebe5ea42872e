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
