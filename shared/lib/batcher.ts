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
  getKey?: (item: Item) => unknown;
  /** Which errors may be one item's fault alone: after such a one each item is tried by itself. */
  isItemError?: (error: unknown) => boolean;
  /** How long an item waits for its turn while nothing moves; without it, for as long as it takes. */
  waitTimeout?: WaitTimeout;
}

/**
 * What has waited for so long, while nothing before it got done, is rejected, and is certain never to have been at work.
 * A line that is long and moves is none of this.
 */
export interface WaitTimeout {
  timeoutMs: number;
  createError: () => Error;
}

interface QueuedItem<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
  timer: NodeJS.Timeout | undefined;
}

/** The items with one key of which none is ready. */
interface Lane<Entry> {
  waiting: Set<Entry>;
  /** Whether it waits for an item with its own key, and not for that one's turn. */
  isRunning: boolean;
  /** When one with its key was done, by the clock of `performance`. */
  lastProgressAt: number;
}

/**
 * @returns a function that queues an item, and resolves with the item's own result or rejects with its batch's error,
 *   or with that of `patience`.
 */
export function createBatcher<Item, Result>(options: BatcherOptions<Item, Result>): (item: Item) => Promise<Result> {
  const { maxItems, maxInFlight, getKey, isItemError, waitTimeout } = options;
  type Entry = QueuedItem<Item, Result>;
  const ready = new Set<Entry>();
  /** For each key that is ready or at work, those that wait for it. */
  const lanes = new Map<unknown, Lane<Entry>>();
  /** When anything was done at last. */
  let lastProgressAt = 0;
  let inFlight = 0;
  let scheduled = false;

  function addItem(entry: Entry): void {
    if (waitTimeout !== undefined) entry.timer = setTimeout(rejectIfStalled, waitTimeout.timeoutMs, entry, waitTimeout);
    const lane = findLane(entry);
    if (lane !== undefined) {
      lane.waiting.add(entry);
      return;
    }
    if (getKey !== undefined)
      lanes.set(getKey(entry.item), { waiting: new Set(), isRunning: false, lastProgressAt: 0 });
    ready.add(entry);
  }

  function findLane({ item }: Entry): Lane<Entry> | undefined {
    return getKey === undefined ? undefined : lanes.get(getKey(item));
  }

  function rejectIfStalled(entry: Entry, { timeoutMs, createError }: WaitTimeout): void {
    const lane = findLane(entry);
    const lastProgress = lane?.isRunning === true ? lane.lastProgressAt : lastProgressAt;
    const remainingMs = lastProgress + timeoutMs - performance.now();
    if (remainingMs > 0) {
      entry.timer = setTimeout(rejectIfStalled, remainingMs, entry, { timeoutMs, createError });
      return;
    }
    if (ready.delete(entry)) startNextInLane(entry);
    else lane?.waiting.delete(entry);
    entry.reject(createError());
  }

  /** Lets the next one with the same key go on. */
  function startNextInLane(entry: Entry): void {
    const lane = findLane(entry);
    if (lane === undefined) return;
    const [next] = lane.waiting;
    if (next === undefined) {
      lanes.delete(getKey?.(entry.item));
      return;
    }
    lane.waiting.delete(next);
    lane.isRunning = false;
    ready.add(next);
  }

  function takeBatch(): Entry[] {
    const batch: Entry[] = [];
    for (const entry of ready) {
      if (batch.length === maxItems) break;
      ready.delete(entry);
      clearTimeout(entry.timer);
      const lane = findLane(entry);
      if (lane !== undefined) {
        lane.isRunning = true;
        lane.lastProgressAt = Math.max(lane.lastProgressAt, lastProgressAt);
      }
      batch.push(entry);
    }
    return batch;
  }

  function resolveItem(entry: Entry, result: Result): void {
    lastProgressAt = performance.now();
    const lane = findLane(entry);
    if (lane !== undefined) lane.lastProgressAt = lastProgressAt;
    entry.resolve(result);
  }

  async function flush(): Promise<void> {
    const batch = takeBatch();
    inFlight += 1;
    try {
      const results = await options.run(batch.map((entry) => entry.item));
      batch.forEach((entry, index) => resolveItem(entry, results[index] as Result));
    } catch (error) {
      if (batch.length > 1 && isItemError?.(error) === true) await Promise.all(batch.map(runItemAlone));
      else for (const entry of batch) entry.reject(error);
    } finally {
      inFlight -= 1;
      batch.forEach(startNextInLane);
      schedule();
    }
  }

  async function runItemAlone(entry: Entry): Promise<void> {
    try {
      resolveItem(entry, (await options.run([entry.item]))[0] as Result);
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
      addItem({ item, resolve, reject, timer: undefined });
      schedule();
    });
}
