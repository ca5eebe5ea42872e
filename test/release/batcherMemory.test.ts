import { constants, PerformanceObserver } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { createBatcher } from '../../shared/lib/batcher.ts';

const CLIENTS = 32;
const ITEMS_PER_CLIENT = 4_000;

/** Returns an object of some KB, as the row of a generation. */
const createResult = (item: number) => Array.from({ length: 250 }, () => item);

/** Fills the space of young objects several times, so that those that are still used become old. */
async function collectYoungObjects(): Promise<void> {
  for (let index = 0; index < 150_000; index += 1) {
    createResult(index);
    if (index % 10_000 === 0) await nextTurn();
  }
}

/** Counts the full collections of the heap while `run` works. */
async function countFullCollections(run: () => Promise<unknown>): Promise<number> {
  let count = 0;
  const observer = new PerformanceObserver((list) => {
    for (const { detail } of list.getEntries() as unknown as { detail: { kind: number } }[])
      if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) count += 1;
  });
  observer.observe({ entryTypes: ['gc'] });
  await run();
  await nextTurn();
  observer.disconnect();
  return count;
}

async function compute(item: number): Promise<number[]> {
  await nextTurn();
  return createResult(item);
}

/** Has each client compute its items, one after the other. */
async function runClients(run: (item: number) => Promise<number[]>): Promise<void> {
  await Promise.all(
    Array.from({ length: CLIENTS }, async (_, client) => {
      for (let index = 0; index < ITEMS_PER_CLIENT; index += 1) await run(client);
    }),
  );
}

describe('the memory of a batcher', () => {
  for (const { title, getKey } of [
    { title: 'without keys', getKey: undefined },
    { title: 'with keys', getKey: (item: number) => item },
  ]) {
    it(`does not keep the results of past batches until a full collection, ${title}`, async () => {
      const submit = createBatcher<number, number[]>({
        maxItems: 16,
        maxInFlight: 2,
        getKey,
        run: async (items) => {
          await nextTurn();
          return items.map(createResult);
        },
      });
      await submit(0);
      await collectYoungObjects();
      // Versions of Node collect the same garbage more or less often.
      const withoutBatcher = await countFullCollections(() => runClients(compute));
      expect(await countFullCollections(() => runClients(submit))).to.be.lessThan(withoutBatcher + 3);
    });
  }
});
