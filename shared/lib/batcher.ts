/**
 * Options of a micro-batcher. The first item runs alone and immediately; items that arrive while it runs form the next
 * batch. An idle process adds no delay, and a busy one serves many items in one round trip.
 */
export interface BatcherOptions<Item, Result> {
  /** Processes a batch. Returns one result per item, in the same order. */
  run(items: Item[]): Promise<Result[]>;
  maxItems: number;
  maxInFlight: number;
  /**
   * Minimum time between the starts of two batches, so that a steady flow forms larger ones. The first item after a
   * pause of that length runs at once, and a full batch never waits. Default: none.
   */
  intervalMs?: number;
  /**
   * Number of items that run, or could run now, from which the interval applies: fewer do not wait for it. Default: 1.
   */
  intervalMinItems?: number;
  /** Items with the same key never run at the same time. */
  getKey?: (item: Item) => unknown;
  /** Items with the same key may run in the same batch, which processes them one after another. */
  keysShareBatch?: true;
  /** Returns true for errors that a single item may have caused. Each item of the batch then runs by itself. */
  isItemError?: (error: unknown) => boolean;
  /** Limits the wait of an item while no other item completes. Without it, items wait indefinitely. */
  waitTimeout?: WaitTimeout;
}

/**
 * Rejects an item that has waited `timeoutMs` without any progress ahead of it. A rejected item never ran. A long queue
 * that makes progress does not time out.
 */
export interface WaitTimeout {
  timeoutMs: number;
  createError: () => Error;
}

interface QueuedItem<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
  /** On the clock of `performance`. */
  queuedAt: number;
}

/** Items that wait for another item with the same key. */
interface Lane<Entry> {
  key: unknown;
  waiting: Entry[];
  /** True while an item with this key runs; false while that item is still queued. */
  isRunning: boolean;
  /** Time at which an item with this key last completed, on the clock of `performance`. */
  lastProgressAt: number;
}

/**
 * Creates a micro-batcher.
 * @returns a function that queues an item. It resolves with the item's result, or rejects with the error of the batch
 *   or of `waitTimeout`.
 */
export function createBatcher<Item, Result>(options: BatcherOptions<Item, Result>): (item: Item) => Promise<Result> {
  const { maxItems, maxInFlight, intervalMs = 0, intervalMinItems = 1, getKey, isItemError, waitTimeout } = options;
  const maxReleased = options.keysShareBatch === true ? maxItems : 1;
  type Entry = QueuedItem<Item, Result>;
  // An array, not a Set: one that grows and shrinks keeps its former tables, and with them all results of past batches,
  // until the next full collection, since each table refers to its successor.
  const ready: Entry[] = [];
  /** For each key with a queued or running item, the items that wait for it. */
  const lanes = new Map<unknown, Lane<Entry>>();
  /** Time at which any item last completed. */
  let lastProgressAt = 0;
  let inFlight = 0;
  /** Number of items in the batches that run. */
  let running = 0;
  let scheduled = false;
  /** Time from which a batch may start that is not full. */
  let nextStartAt = 0;
  let intervalTimer: NodeJS.Timeout | undefined;
  /** One timer for all items that wait: one for each costs more than the rest of the batcher. */
  let stallTimer: NodeJS.Timeout | undefined;

  function addItem(entry: Entry): void {
    if (waitTimeout !== undefined) stallTimer ??= setTimeout(rejectStalled, waitTimeout.timeoutMs, waitTimeout).unref();
    const lane = findLane(entry);
    if (lane !== undefined && (lane.isRunning || options.keysShareBatch !== true)) {
      lane.waiting.push(entry);
      return;
    }
    if (getKey !== undefined && lane === undefined) {
      const key = getKey(entry.item);
      lanes.set(key, { key, waiting: [], isRunning: false, lastProgressAt: 0 });
    }
    ready.push(entry);
  }

  function findLane({ item }: Entry): Lane<Entry> | undefined {
    return getKey === undefined ? undefined : lanes.get(getKey(item));
  }

  function rejectStalled(timeout: WaitTimeout): void {
    stallTimer = undefined;
    const checkedAt = performance.now();
    let nextMs = Infinity;
    const waiting = [...ready, ...[...lanes.values()].flatMap((lane) => lane.waiting)];
    for (const entry of waiting) {
      const lane = findLane(entry);
      const lastProgress = lane?.isRunning === true ? lane.lastProgressAt : lastProgressAt;
      const remainingMs = Math.max(entry.queuedAt, lastProgress) + timeout.timeoutMs - checkedAt;
      if (remainingMs > 0) {
        nextMs = Math.min(nextMs, remainingMs);
        continue;
      }
      if (!removeFirst(ready, entry)) removeFirst(lane?.waiting ?? [], entry);
      else if (lane !== undefined && !ready.some((other) => findLane(other) === lane)) releaseLane(lane);
      entry.reject(timeout.createError());
    }
    if (nextMs < Infinity) stallTimer = setTimeout(rejectStalled, Math.ceil(nextMs), timeout).unref();
  }

  /** Makes the next items with the same key ready. */
  function releaseLane(lane: Lane<Entry>): void {
    const next = lane.waiting.splice(0, maxReleased);
    if (next.length === 0) lanes.delete(lane.key);
    lane.isRunning = false;
    ready.push(...next);
  }

  function takeBatch(): Entry[] {
    const batch = ready.splice(0, maxItems);
    for (const entry of batch) {
      const lane = findLane(entry);
      if (lane !== undefined) {
        lane.isRunning = true;
        lane.lastProgressAt = Math.max(lane.lastProgressAt, lastProgressAt);
      }
    }
    if (options.keysShareBatch === true) returnToLanes();
    return batch;
  }

  /** Lets those that did not fit into the batch wait for the others with their key. */
  function returnToLanes(): void {
    const others = ready.splice(0);
    for (const entry of others.toReversed()) {
      const lane = findLane(entry);
      if (lane?.isRunning === true) lane.waiting.unshift(entry);
      else ready.unshift(entry);
    }
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
    running += batch.length;
    if (intervalMs > 0) nextStartAt = performance.now() + intervalMs;
    try {
      const results = await options.run(batch.map((entry) => entry.item));
      batch.forEach((entry, index) => resolveItem(entry, results[index] as Result));
    } catch (error) {
      if (batch.length > 1 && isItemError?.(error) === true) await runEachAlone(batch);
      else for (const entry of batch) entry.reject(error);
    } finally {
      inFlight -= 1;
      running -= batch.length;
      for (const lane of new Set(batch.map(findLane))) if (lane !== undefined) releaseLane(lane);
      schedule();
    }
  }

  /** Items with the same key one after another. */
  async function runEachAlone(batch: Entry[]): Promise<void> {
    const lastByKey = new Map<unknown, Promise<void>>();
    for (const entry of batch) {
      const key = getKey === undefined ? entry : getKey(entry.item);
      const last = lastByKey.get(key);
      lastByKey.set(key, last === undefined ? runItemAlone(entry) : last.then(() => runItemAlone(entry)));
    }
    await Promise.all(lastByKey.values());
  }

  async function runItemAlone(entry: Entry): Promise<void> {
    try {
      resolveItem(entry, (await options.run([entry.item]))[0] as Result);
    } catch (error) {
      entry.reject(error);
    }
  }

  function canStart(): boolean {
    return ready.length > 0 && inFlight < maxInFlight;
  }

  /** Returns the time until the next batch may start, in milliseconds. */
  function getDelayMs(): number {
    if (intervalMs === 0 || ready.length >= maxItems || ready.length + running < intervalMinItems) return 0;
    return nextStartAt - performance.now();
  }

  // Deferred to the end of the event loop's turn, so that items that arrive in one turn share a batch.
  function schedule(): void {
    if (scheduled || !canStart()) return;
    const delayMs = getDelayMs();
    if (delayMs > 0) {
      intervalTimer ??= setTimeout(endInterval, Math.ceil(delayMs));
      return;
    }
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      startBatches();
    });
  }

  function startBatches(): void {
    while (canStart() && getDelayMs() <= 0) void flush();
    schedule();
  }

  // Starts batches at once: after a stall of the process, the time limits of the items expire in the same turn.
  function endInterval(): void {
    intervalTimer = undefined;
    startBatches();
  }

  return (item) =>
    new Promise<Result>((resolve, reject) => {
      addItem({ item, resolve, reject, queuedAt: performance.now() });
      schedule();
    });
}

/** Removes an element, and returns false if the array does not have it. */
function removeFirst<Element>(array: Element[], element: Element): boolean {
  const index = array.indexOf(element);
  if (index === -1) return false;
  array.splice(index, 1);
  return true;
}
