import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import type { Client } from 'pg';
import { buildDist } from '../local/environment/build.ts';
import { connectTo, createDatabase, withDatabaseName } from '../local/environment/databases.ts';
import { createEnvironment, type Environment } from '../local/environment/environment.ts';
import type { Program } from '../local/environment/program.ts';
import { createScratchFolder } from '../local/environment/scratchFolder.ts';
import { type BenchChild, type BenchProcess, startBenchChild } from './childProcess.ts';
import type { Round } from './figure.ts';
import type { HttpLoad } from './load/httpLoad.ts';
import type { BenchOptions } from './options.ts';
import { readProcessorMs } from './processUsage.ts';
import type { Seed } from './seed.ts';

/** Flushes to disk as in production. Only checkpoints are kept out of the rounds. */
const POSTGRES_SETTINGS = {
  shared_buffers: '256MB',
  max_connections: '300',
  max_wal_size: '8GB',
  min_wal_size: '3GB',
  checkpoint_timeout: '1h',
};
export const REDIS_PREFIX = 'bench';
/** Keeps the queues of another version apart. */
const OTHER_REDIS_PREFIX = 'bench-other';

export type BenchApi = BenchProcess & { port: number };

export interface BenchDatabase {
  url: string;
  client: Client;
}

export interface SeededDatabase extends BenchDatabase {
  /** Verifies the sums of the database after this many creates were accepted. */
  verify: (created: number) => Promise<void>;
}

export interface SeedOptions extends Partial<Omit<Seed, 'accounts'>> {
  /** Default: that of the options. */
  accounts?: number;
  /** Another version, which migrates and seeds the database itself, since its schema may differ. */
  checkout?: string;
  /** Changes the schema of the empty database. */
  beforeSeed?: (client: Client) => Promise<void>;
}

/** A process by its id, or a function that reads its processor time in milliseconds. */
type MeasuredProcess = { pid: number | null } | (() => number);

/** Servers, and what a measurement starts: the built service, and processes that generate load. */
export class Bench {
  readonly options: BenchOptions;
  readonly environment: Environment;
  readonly log: (line: string) => void;
  readonly #server: Client;
  /** Ends what the current measurement has started. */
  readonly #ends: (() => Promise<unknown>)[] = [];
  #services = 0;

  constructor(options: BenchOptions, environment: Environment, server: Client, log: (line: string) => void) {
    this.options = options;
    this.environment = environment;
    this.#server = server;
    this.log = log;
  }

  /** Creates a migrated, empty database. */
  async database(name: string, checkout?: string): Promise<BenchDatabase> {
    const template = checkout === undefined ? 'genmeter' : 'template1';
    const { url: server } = this.environment.postgres;
    const url = await createDatabase(server, `bench_${name}`, `TEMPLATE ${template}`);
    if (checkout !== undefined) await this.environment.migrate(url, {}, checkout);
    const client = await connectTo(url);
    this.#ends.push(() => client.end());
    return { url, client };
  }

  /** Creates a database with accounts, and generations if it says so. */
  async seed(name: string, options: SeedOptions = {}): Promise<SeededDatabase> {
    const { checkout, beforeSeed, accounts = this.options.accounts, hotRows = 0, rowsPerAccount = 0 } = options;
    const database = await this.database(name, checkout);
    await beforeSeed?.(database.client);
    const { seedDatabase, verifySums } = await loadVersion(checkout);
    await seedDatabase(database.client, { ...options, accounts, hotRows, rowsPerAccount });
    const seeded = hotRows + (accounts - 1) * rowsPerAccount;
    return { ...database, verify: (created) => verifySums(database.client, seeded + created) };
  }

  async api(databaseUrl: string, env: Record<string, string> = {}, checkout?: string): Promise<BenchApi> {
    const api = await this.environment.startApi(this.#place(databaseUrl, env, checkout));
    return { ...this.#watch(api), port: api.port };
  }

  worker(databaseUrl: string, env: Record<string, string>, checkout?: string): BenchProcess {
    return this.#watch(this.environment.startWorker(this.#place(databaseUrl, env, checkout)));
  }

  /** Starts a module of the bench as a process with the service's configuration for a database. */
  async child<Handlers>(
    module: string,
    databaseUrl: string,
    env: Record<string, string> = {},
  ): Promise<BenchChild<Handlers>> {
    const variables = this.environment.buildEnv({ databaseUrl, env });
    const child = await startBenchChild<Handlers>(join(import.meta.dirname, module), variables);
    this.environment.closers.add(() => child.end());
    this.#ends.push(() => child.end());
    return child;
  }

  /** Starts the process that sends requests. */
  http(): Promise<BenchChild<HttpLoad>> {
    return this.child<HttpLoad>('load/httpLoad.ts', this.environment.postgres.url);
  }

  /** Runs a round, and adds what each item cost: processor time of these processes and of the servers, and WAL. */
  async timed(
    processes: Record<string, MeasuredProcess>,
    work: () => Promise<Round & { done: number }>,
  ): Promise<Round> {
    const { postgres, redis } = this.environment;
    const all = Object.entries({ ...processes, postgres, redis });
    const before = await this.#readUsage(all);
    const result = await work();
    const after = await this.#readUsage(all);
    const costs = after.map(([name, total], index) => [name, (total - before[index]![1]) / result.done] as const);
    return { ...result, ...Object.fromEntries(costs.filter(([, cost]) => Number.isFinite(cost))) };
  }

  /** Ends everything that the current measurement has started, and deletes all jobs. */
  async endMeasurement(): Promise<void> {
    for (const end of this.#ends.splice(0).toReversed()) await end();
    const redis = new Redis(this.environment.redis.url);
    await redis.flushall();
    redis.disconnect();
  }

  async close(): Promise<void> {
    await this.#server.end();
    await this.environment.close({ onError: (error) => this.log(error.message) });
  }

  async #readUsage(processes: [string, MeasuredProcess][]): Promise<(readonly [string, number])[]> {
    const { rows } = await this.#server.query<{ bytes: number }>(
      `SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 AS bytes`,
    );
    const read = (process: MeasuredProcess) =>
      typeof process === 'function' ? process() : readProcessorMs(process.pid);
    const times = processes.map(([name, process]) => [`${name} µs`, 1_000 * read(process)] as const);
    return [...times, ['WAL bytes', rows[0]!.bytes]];
  }

  #place(databaseUrl: string, env: Record<string, string>, checkout?: string) {
    this.#services += 1;
    const { profile } = this.options;
    const flags = profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`];
    const prefix: Record<string, string> = checkout === undefined ? {} : { REDIS_PREFIX: OTHER_REDIS_PREFIX };
    return { databaseUrl, env: { ...env, ...prefix }, checkout, flags, logName: `service-${this.#services}` };
  }

  /** Reports the warnings that a process has logged when it ends. */
  #watch(program: Program): BenchProcess {
    const end = async (): Promise<void> => {
      await program.stop();
      const lines = program.logs().split('\n').filter(Boolean);
      if (lines.length === 0) return;
      this.log(`${program.name} logged ${lines.length} warnings, the first: ${lines[0]?.slice(0, 300)}`);
    };
    this.#ends.push(end);
    return { pid: program.pid, end };
  }
}

/** Starts the servers, builds the service and migrates the database that the others are copied from. */
export async function startBench(options: BenchOptions, log: (line: string) => void): Promise<Bench> {
  if (!options.isBuilt) await buildDist();
  const environment = await createEnvironment({
    folder: createScratchFolder('bench-', true),
    postgresSettings: POSTGRES_SETTINGS,
    redisPrefix: REDIS_PREFIX,
    env: { LOG_LEVEL: 'warn' },
  });
  try {
    log(environment.description);
    await environment.migrate(environment.postgres.url);
    const server = await connectTo(withDatabaseName(environment.postgres.url, 'postgres'));
    return new Bench(options, environment, server, log);
  } catch (error) {
    await environment.close();
    throw error;
  }
}

async function loadVersion(checkout?: string) {
  const load = async (module: string): Promise<unknown> =>
    import(checkout === undefined ? `./${module}` : pathToFileURL(join(checkout, 'dev/bench', module)).href);
  const [seed, verify] = await Promise.all([load('seed.ts'), load('verify.ts')]);
  const { seedDatabase } = seed as typeof import('./seed.ts');
  const { verifySums } = verify as typeof import('./verify.ts');
  return { seedDatabase, verifySums };
}
