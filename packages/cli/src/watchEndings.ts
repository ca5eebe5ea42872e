import { setTimeout as sleep } from 'node:timers/promises';
import { type Generation, type Genmeter, GenmeterError } from '@genmeter/client';

/** Processes of the service, whose clocks differ, set the time of a generation. */
const CLOCK_SKEW_MS = 60_000;
const REMEMBERED_GENERATIONS = 1_000;

interface WatchOptions {
  intervalMs: number;
  signal: AbortSignal;
  /** Called once, from when on ends are reported. */
  onReady: () => void;
  /** Called when a read failed for a temporary reason. */
  onOutage: (error: Error) => void;
}

/**
 * Yields generations that end from now on, by reading the list. Generations that had ended before are not reported;
 * one that is deleted before its end is read is not either.
 * @throws GenmeterError if reading fails for a reason that lasts.
 */
export async function* watchEndings(
  client: Genmeter,
  { intervalMs, signal, onReady, onOutage }: WatchOptions,
): AsyncGenerator<Generation, void, undefined> {
  const watcher = new EndingWatcher(client, signal);
  for (let isReady = false; ; await sleep(intervalMs, undefined, { signal })) {
    let ended: Generation[] = [];
    try {
      ended = isReady ? await watcher.readEnded() : await watcher.start();
    } catch (error) {
      if (!(error instanceof GenmeterError) || !isTemporary(error)) throw error;
      onOutage(error);
      continue;
    }
    if (!isReady) onReady();
    isReady = true;
    yield* ended;
  }
}

const isTemporary = ({ status }: GenmeterError): boolean => status === undefined || status === 429 || status >= 500;

class EndingWatcher {
  readonly #client: Genmeter;
  readonly #signal: AbortSignal;
  /** Generations whose end has not been read. */
  readonly #queued = new Set<string>();
  /** Latest generations that have been read. */
  #seen = new Set<string>();
  /** Time of the newest of them. */
  #newestAt = -Infinity;

  constructor(client: Genmeter, signal: AbortSignal) {
    this.#client = client;
    this.#signal = signal;
  }

  /** Reads which generations are in progress. Reports none. */
  async start(): Promise<Generation[]> {
    const options = { signal: this.#signal };
    const { data } = await this.#client.generations.list({}, options).page(1);
    this.#remember(data);
    for await (const { uuid } of this.#client.generations.list({ status: 'queued' }, options)) this.#queued.add(uuid);
    return [];
  }

  /** Reads the generations that have ended since the last time, oldest first. */
  async readEnded(): Promise<Generation[]> {
    const read = await this.#readNewest();
    const missing = [...this.#queued].filter((uuid) => !read.has(uuid));
    // Not more than the account may have in progress at once.
    for (const generation of await Promise.all(missing.map((uuid) => this.#find(uuid)))) {
      if (generation !== undefined) read.set(generation.uuid, generation);
    }
    const ended = [...read.values()].filter(({ status }) => status !== 'queued');
    for (const { uuid } of ended) this.#queued.delete(uuid);
    return ended.sort((one, other) => Date.parse(one.completed_at ?? '') - Date.parse(other.completed_at ?? ''));
  }

  /** Reads generations that were created since the last time, and adds them to those in progress. */
  async #readNewest(): Promise<Map<string, Generation>> {
    const added = new Map<string, Generation>();
    for await (const generation of this.#client.generations.list({}, { signal: this.#signal })) {
      // All that have been read may have been deleted.
      const isOld = Date.parse(generation.created_at) < this.#newestAt - CLOCK_SKEW_MS;
      if (isOld || this.#seen.has(generation.uuid)) break;
      added.set(generation.uuid, generation);
    }
    for (const uuid of added.keys()) this.#queued.add(uuid);
    this.#remember([...added.values()]);
    return added;
  }

  /** @param generations newest first. */
  #remember(generations: readonly Generation[]): void {
    this.#seen = new Set([...generations.map(({ uuid }) => uuid), ...this.#seen].slice(0, REMEMBERED_GENERATIONS));
    for (const { created_at: createdAt } of generations) {
      this.#newestAt = Math.max(this.#newestAt, Date.parse(createdAt));
    }
  }

  async #find(uuid: string): Promise<Generation | undefined> {
    try {
      return await this.#client.generations.get(uuid, { signal: this.#signal });
    } catch (error) {
      if (!(error instanceof GenmeterError) || error.status !== 404) throw error;
      this.#queued.delete(uuid);
      return undefined;
    }
  }
}
