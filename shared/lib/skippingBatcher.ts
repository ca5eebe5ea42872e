import { type BatcherOptions, createBatcher } from './batcher.ts';
import { DB_WAIT_TIMEOUT } from './database/waitTimeout.ts';

/** Result of an item that a batch has left out, because another transaction holds a row that it needs. */
export const BUSY = Symbol('busy');

interface SkippingBatcherOptions<Item, Result> extends Omit<BatcherOptions<Item, Result>, 'run' | 'getKey'> {
  /** Busy items with the same key wait one after another. */
  getKey: (item: Item) => unknown;
  /** @param options.waits true for a single item that was busy before, and may not be again. */
  run: (items: Item[], options: { waits: boolean }) => Promise<(Result | typeof BUSY)[]>;
}

/** Number of busy items that wait at a time, each with a connection of the database. */
const WAITING_ITEMS_MAX = 2;

/**
 * Creates a micro-batcher whose batches leave out items that would have to wait for a lock. Each of these then runs
 * alone and waits, so that the others are not delayed.
 */
export function createSkippingBatcher<Item, Result>({
  run,
  ...options
}: SkippingBatcherOptions<Item, Result>): (item: Item) => Promise<Result> {
  const runInBatch = createBatcher<Item, Result | typeof BUSY>({
    ...options,
    run: (items) => run(items, { waits: false }),
  });
  const runAlone = createBatcher<Item, Result>({
    maxItems: 1,
    maxInFlight: WAITING_ITEMS_MAX,
    getKey: options.getKey,
    waitTimeout: DB_WAIT_TIMEOUT,
    run: async (items) => (await run(items, { waits: true })) as Result[],
  });
  return async (item) => {
    const result = await runInBatch(item);
    return result === BUSY ? runAlone(item) : result;
  };
}
