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
  /** How long an item waits for its turn while nothing moves; without it, for as long as it takes. */
  patience?: Patience;
}

/**
 * What has waited for so long, while nothing before it got done, is rejected, and is certain never to have been at work.
 * A line that is long and moves is none of this.
 */
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

/** The items with one key of which none is ready. */
interface Line<Entry> {
  waiting: Set<Entry>;
  /** Whether it waits for an item with its own key, and not for that one's turn. */
  isAtWork: boolean;
  /** When one with its key was done, by the clock of `performance`. */
  movedAt: number;
}

/**
 * @returns a function that queues an item, and resolves with the item's own result or rejects with its batch's error,
 *   or with that of `patience`.
 */
export function createBatcher<Item, Result>(options: BatcherOptions<Item, Result>): (item: Item) => Promise<Result> {
  const { maxItems, maxInFlight, keyOf, isOneItemsFault, patience } = options;
  type Entry = Waiting<Item, Result>;
  const ready = new Set<Entry>();
  /** For each key that is ready or at work, those that wait for it. */
  const held = new Map<unknown, Line<Entry>>();
  /** When anything was done at last. */
  let movedAt = 0;
  let inFlight = 0;
  let scheduled = false;

  function admit(entry: Entry): void {
    if (patience !== undefined) entry.timer = setTimeout(giveUpOrWait, patience.waitMs, entry, patience);
    const line = lineOf(entry);
    if (line !== undefined) {
      line.waiting.add(entry);
      return;
    }
    if (keyOf !== undefined) held.set(keyOf(entry.item), { waiting: new Set(), isAtWork: false, movedAt: 0 });
    ready.add(entry);
  }

  function lineOf({ item }: Entry): Line<Entry> | undefined {
    return keyOf === undefined ? undefined : held.get(keyOf(item));
  }

  function giveUpOrWait(entry: Entry, { waitMs, newError }: Patience): void {
    const line = lineOf(entry);
    const lastMove = line?.isAtWork === true ? line.movedAt : movedAt;
    const restMs = lastMove + waitMs - performance.now();
    if (restMs > 0) {
      entry.timer = setTimeout(giveUpOrWait, restMs, entry, { waitMs, newError });
      return;
    }
    if (ready.delete(entry)) release(entry);
    else line?.waiting.delete(entry);
    entry.reject(newError());
  }

  /** Lets the next one with the same key go on. */
  function release(entry: Entry): void {
    const line = lineOf(entry);
    if (line === undefined) return;
    const [next] = line.waiting;
    if (next === undefined) {
      held.delete(keyOf?.(entry.item));
      return;
    }
    line.waiting.delete(next);
    line.isAtWork = false;
    ready.add(next);
  }

  function take(): Entry[] {
    const batch: Entry[] = [];
    for (const entry of ready) {
      if (batch.length === maxItems) break;
      ready.delete(entry);
      clearTimeout(entry.timer);
      const line = lineOf(entry);
      if (line !== undefined) {
        line.isAtWork = true;
        line.movedAt = Math.max(line.movedAt, movedAt);
      }
      batch.push(entry);
    }
    return batch;
  }

  function finish(entry: Entry, result: Result): void {
    movedAt = performance.now();
    const line = lineOf(entry);
    if (line !== undefined) line.movedAt = movedAt;
    entry.resolve(result);
  }

  async function flush(): Promise<void> {
    const batch = take();
    inFlight += 1;
    try {
      const results = await options.run(batch.map((entry) => entry.item));
      batch.forEach((entry, index) => finish(entry, results[index] as Result));
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
      finish(entry, (await options.run([entry.item]))[0] as Result);
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
