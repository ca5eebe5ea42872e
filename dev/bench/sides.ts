import type { Bench, BenchApi, SeededDatabase, SeedOptions } from './bench.ts';
import type { BenchChild } from './childProcess.ts';
import type { Figure } from './figure.ts';
import type { HttpLoad } from './load/httpLoad.ts';

/** A database with an API of its own. */
export interface Side extends SeededDatabase {
  api: BenchApi;
}

interface SideOptions extends SeedOptions {
  /** Variables of its API. */
  env?: Record<string, string>;
  /** Changes its data before the API starts. */
  afterSeed?: (database: SeededDatabase) => Promise<void>;
}

interface ComparedRequests extends Omit<Figure, 'ours' | 'bare'> {
  /** Sent in rotation to both sides, or built for each one. */
  requests: string[] | ((side: Side) => Promise<string[]>);
  /** Status of all responses. Default: 200. */
  expect?: number;
  /** Default: 1. */
  clients?: number;
}

/** Two databases with an API each, which take the same requests in turn. */
export class Sides {
  readonly ours: Side;
  readonly bare: Side;
  readonly #bench: Bench;
  readonly #http: BenchChild<HttpLoad>;

  constructor(bench: Bench, ours: Side, bare: Side, http: BenchChild<HttpLoad>) {
    this.#bench = bench;
    this.ours = ours;
    this.bare = bare;
    this.#http = http;
  }

  get all(): readonly [Side, Side] {
    return [this.ours, this.bare];
  }

  /** Returns the figure of requests: of their times by one client, or of the throughput of several. */
  async compare({ requests, expect = 200, clients = 1, ...figure }: ComparedRequests): Promise<Figure> {
    const { alone, roundMs } = this.#bench.options;
    const prepare = async (side: Side, name: string) => {
      const texts = Array.isArray(requests) ? requests : await requests(side);
      await this.#http.prepare({ name, port: side.api.port, expect, requests: texts });
      if (clients > 1)
        return () =>
          this.#bench.timed({ api: side.api, client: this.#http }, () => this.#http.run(name, clients, roundMs));
      // Warms up the code, and prepares the statements and plans on every connection of the pool.
      await this.#http.run(name, 1, alone.warmUpMs);
      return () => this.#http.run(name, 1, 0);
    };
    const ours = await prepare(this.ours, figure.name);
    const bare = await prepare(this.bare, `bare ${figure.name}`);
    if (clients > 1) return { ...figure, ours, bare };
    return { ...figure, ours, bare, by: 'p50 ms', rounds: alone.rounds, isWarm: true, isPooled: true };
  }

  /** Verifies the sums of both databases. */
  async verify(): Promise<void> {
    for (const { verify, api } of this.all) await verify(await this.#http.countCreated(api.port));
  }
}

/** Seeds both databases and starts their APIs. */
export async function startSides(bench: Bench, name: string, ours: SideOptions, bare: SideOptions): Promise<Sides> {
  const start = async (database: string, { env, afterSeed, ...seed }: SideOptions): Promise<Side> => {
    const seeded = await bench.seed(database, seed);
    await seeded.verify(0);
    await afterSeed?.(seeded);
    return { ...seeded, api: await bench.api(seeded.url, env, seed.checkout) };
  };
  const sides = [await start(name, ours), await start(`${name}_bare`, bare)] as const;
  return new Sides(bench, ...sides, await bench.http());
}
