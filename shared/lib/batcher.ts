/**
 * Natural batching: one call runs alone and at once; what arrives while it runs waits, and goes together in the next
 * one. An idle process adds no delay, a busy one does many items' work in one round trip.
 */
export interface BatcherOptions<Item, Result> {
  /** Does the work of all the items, and answers each at its own place. */
  run(items: Item[]): Promise<Result[]>;
  maxItems: number;
  maxInFlight: number;
  /** Items with the same key are kept apart: never two of them at work at the same time. */
  keyOf?: (item: Item) => unknown;
  /** Which errors may be one item's fault alone: after such a one each item is tried by itself. */
  isOneItemsFault?: (error: unknown) => boolean;
}

interface Waiting<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/** @returns a function that queues an item, and resolves with the item's own result or rejects with its batch's error. */
export function createBatcher<Item, Result>(options: BatcherOptions<Item, Result>): (item: Item) => Promise<Result> {
  const { maxItems, maxInFlight, keyOf, isOneItemsFault } = options;
  const ready: Waiting<Item, Result>[] = [];
  /** For each key at work, the items that wait for it. */
  const held = new Map<unknown, Waiting<Item, Result>[]>();
  let inFlight = 0;
  let scheduled = false;

  function admit(entry: Waiting<Item, Result>): void {
    if (keyOf === undefined) {
      ready.push(entry);
      return;
    }
    const key = keyOf(entry.item);
    const line = held.get(key);
    if (line !== undefined) {
      line.push(entry);
      return;
    }
    held.set(key, []);
    ready.push(entry);
  }

  function release(entry: Waiting<Item, Result>): void {
    if (keyOf === undefined) return;
    const key = keyOf(entry.item);
    const next = held.get(key)?.shift();
    if (next === undefined) held.delete(key);
    else ready.push(next);
  }

  async function flush(): Promise<void> {
    const batch = ready.splice(0, maxItems);
    inFlight += 1;
    try {
      const results = await options.run(batch.map((entry) => entry.item));
      batch.forEach((entry, index) => entry.resolve(results[index] as Result));
    } catch (error) {
      if (batch.length > 1 && isOneItemsFault?.(error) === true) await Promise.all(batch.map(alone));
      else for (const entry of batch) entry.reject(error);
    } finally {
      inFlight -= 1;
      batch.forEach(release);
      schedule();
    }
  }

  async function alone(entry: Waiting<Item, Result>): Promise<void> {
    try {
      entry.resolve((await options.run([entry.item]))[0] as Result);
    } catch (error) {
      entry.reject(error);
    }
  }

  // Left to the end of the turn of the event loop, so that what one turn brings in goes together.
  function schedule(): void {
    if (scheduled || ready.length === 0 || inFlight >= maxInFlight) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      while (ready.length > 0 && inFlight < maxInFlight) void flush();
    });
  }

  return (item) =>
    new Promise<Result>((resolve, reject) => {
      admit({ item, resolve, reject });
      schedule();
    });
}
