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
  /** How long an item waits for its turn at the most; without it, for as long as it takes. */
  patience?: Patience;
}

/** What has not had its turn after so long is rejected, and is certain never to have been at work. */
export interface Patience {
  waitMs: number;
  newError: () => Error;
}

interface Waiting<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
  timer: NodeJS.Timeout | undefined;
}

/**
 * @returns a function that queues an item, and resolves with the item's own result or rejects with its batch's error,
 *   or with that of `patience`.
 */
export function createBatcher<Item, Result>(options: BatcherOptions<Item, Result>): (item: Item) => Promise<Result> {
  const { maxItems, maxInFlight, keyOf, isOneItemsFault, patience } = options;
  type Entry = Waiting<Item, Result>;
  const ready = new Set<Entry>();
  /** For each key that is ready or at work, the items that wait for it. */
  const held = new Map<unknown, Set<Entry>>();
  let inFlight = 0;
  let scheduled = false;

  function admit(entry: Entry): void {
    if (patience !== undefined) entry.timer = setTimeout(() => giveUp(entry, patience), patience.waitMs);
    if (keyOf === undefined) {
      ready.add(entry);
      return;
    }
    const key = keyOf(entry.item);
    const line = held.get(key);
    if (line !== undefined) {
      line.add(entry);
      return;
    }
    held.set(key, new Set());
    ready.add(entry);
  }

  function giveUp(entry: Entry, { newError }: Patience): void {
    if (ready.delete(entry)) release(entry);
    else if (keyOf !== undefined) held.get(keyOf(entry.item))?.delete(entry);
    entry.reject(newError());
  }

  /** Lets the next one with the same key go on. */
  function release(entry: Entry): void {
    if (keyOf === undefined) return;
    const key = keyOf(entry.item);
    const line = held.get(key);
    const [next] = line ?? [];
    if (next === undefined) {
      held.delete(key);
      return;
    }
    line?.delete(next);
    ready.add(next);
  }

  function take(): Entry[] {
    const batch: Entry[] = [];
    for (const entry of ready) {
      if (batch.length === maxItems) break;
      ready.delete(entry);
      clearTimeout(entry.timer);
      batch.push(entry);
    }
    return batch;
  }

  async function flush(): Promise<void> {
    const batch = take();
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

  async function alone(entry: Entry): Promise<void> {
    try {
      entry.resolve((await options.run([entry.item]))[0] as Result);
    } catch (error) {
      entry.reject(error);
    }
  }

  // Left to the end of the turn of the event loop, so that what one turn brings in goes together.
  function schedule(): void {
    if (scheduled || ready.size === 0 || inFlight >= maxInFlight) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      while (ready.size > 0 && inFlight < maxInFlight) void flush();
    });
  }

  return (item) =>
    new Promise<Result>((resolve, reject) => {
      admit({ item, resolve, reject, timer: undefined });
      schedule();
    });
}
