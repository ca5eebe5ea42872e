import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import knex from 'knex';
import pg from 'pg';
import type { Program } from '../../dev/local/environment/program.ts';
import { buildServiceEnv } from '../../dev/local/environment/serviceEnv.ts';
import { allocatePort } from './ports.ts';
import { type TestCustomer, createCustomer, request } from './apiClient.ts';
import { createDatabase, requireTestEnv } from './databases.ts';
import { InProcessService } from './inProcessService.ts';
import { type ServiceHandle, startServiceProcess } from './serviceProcess.ts';
import { endWithFile, removeEnded } from './testLogs.ts';
import { FakeUpstream } from '../fakes/fakeUpstream.ts';
import { releaseCatalog } from '../../shared/domain/catalog/release.ts';
import { checkInvariants } from '../../shared/domain/integrity/index.ts';
import { parseCatalog } from '../../shared/lib/catalog/catalog.ts';
import { parseConfig } from '../../shared/lib/config.ts';
import { useService } from './useService.ts';

/** Decodes every video at once. The decoder in WebAssembly takes up to a second of processor time for each. */
const FAKE_FFMPEG = fileURLToPath(new URL('../fakes/ffmpeg.sh', import.meta.url));

export type TestDatabase = pg.Pool;

export interface TestServiceOptions {
  apis?: number;
  workers?: number;
  /**
   * Parts that run in processes of their own from the start, for tests of kills, memory and concurrency. By default the
   * first API and the first worker run in the test's process, and only further ones in their own.
   */
  spawn?: 'workers' | 'all';
  /** Initial offset of the service's clock. */
  clockOffsetMs?: number;
  env?: Record<string, string>;
  redisUrl?: string;
  /** False: the CATALOG in `env` is not released first. */
  isReleased?: boolean;
  /** Address of a migrated database. Default: a new one on the server of the test run. */
  databaseUrl?: string;
}

export type RunningApi = ServiceHandle & { baseUrl: string };

/** A whole service on a database of its own, with a fake model provider and a movable clock. */
export class TestService {
  readonly env: Record<string, string>;
  readonly database: TestDatabase;
  readonly upstream: FakeUpstream;
  readonly apis: RunningApi[] = [];
  readonly workers: ServiceHandle[] = [];
  #clockOffsetMs: number;
  readonly #inProcess: InProcessService | undefined;
  readonly #spawnsWorkers: boolean;
  readonly #processes = new Set<Program>();

  constructor(
    env: Record<string, string>,
    database: TestDatabase,
    upstream: FakeUpstream,
    options: TestServiceOptions,
  ) {
    this.env = env;
    this.database = database;
    this.upstream = upstream;
    this.#clockOffsetMs = options.clockOffsetMs ?? 0;
    this.#spawnsWorkers = options.spawn !== undefined;
    const mayShare = options.spawn !== 'all' && !InProcessService.isInUse;
    this.#inProcess = mayShare ? new InProcessService(env, { now: () => this.now }) : undefined;
  }

  /** Offset of the service's clock. A move back may add generations to final hours, which a real clock does not. */
  set clockOffsetMs(offsetMs: number) {
    if (offsetMs < this.#clockOffsetMs) this.fabricated.add('final-hours-match-generations');
    this.#clockOffsetMs = offsetMs;
  }
  get clockOffsetMs(): number {
    return this.#clockOffsetMs;
  }

  /** The address of the first API. */
  get baseUrl(): string {
    return this.baseUrls[0] as string;
  }

  get baseUrls(): string[] {
    return this.apis.map((api) => api.baseUrl);
  }

  /** The parts that `startTestService` starts first: in this process if that is allowed. */
  async startInitialParts({ apis, workers }: { apis: number; workers: number }): Promise<void> {
    const inProcess = this.#inProcess;
    if (inProcess !== undefined && apis > 0) {
      const { env, baseUrl } = await this.#address();
      this.apis.push({ ...(await inProcess.startApi(env)), baseUrl });
    }
    if (inProcess !== undefined && workers > 0 && !this.#spawnsWorkers)
      this.workers.push(await inProcess.startWorker());
    await Promise.all([
      ...Array.from({ length: apis - this.apis.length }, () => this.startApi()),
      ...Array.from({ length: workers - this.workers.length }, () => this.startWorker()),
    ]);
  }

  /** Starts an API in a process of its own. */
  async startApi(
    env: Record<string, string> = {},
    clockOffsetMs = this.clockOffsetMs,
    flags: readonly string[] = [],
  ): Promise<Program & { baseUrl: string }> {
    const { env: address, baseUrl } = await this.#address();
    const started = await startServiceProcess('api', { ...this.env, ...address, ...env }, clockOffsetMs, flags);
    const api = Object.assign(started, { baseUrl });
    this.#processes.add(api);
    this.apis.push(api);
    return api;
  }

  /** Starts a worker in a process of its own. */
  async startWorker(
    env: Record<string, string> = {},
    clockOffsetMs = this.clockOffsetMs,
    flags: readonly string[] = [],
  ): Promise<Program> {
    const worker = await startServiceProcess('worker', { ...this.env, ...env }, clockOffsetMs, flags);
    this.#processes.add(worker);
    this.workers.push(worker);
    return worker;
  }

  async #address(): Promise<{ baseUrl: string; env: Record<string, string> }> {
    const port = String(await allocatePort());
    const baseUrl = `http://127.0.0.1:${port}`;
    return { baseUrl, env: { PORT: port, HOST: '127.0.0.1', BASE_URL: baseUrl } };
  }

  /**
   * Moves the clock of all parts while they run. @param alongside runs at the same moment, as seen from this process.
   */
  async moveClockTo(date: Date, alongside = () => {}): Promise<void> {
    const offsetMs = date.getTime() - Date.now();
    const running = [...this.#processes].filter((part) => part.isRunning);
    await Promise.all(running.map((part) => part.moveClock(offsetMs)));
    this.clockOffsetMs = offsetMs;
    alongside();
  }

  createCustomer(plan: string | null = 'pro'): Promise<TestCustomer> {
    return createCustomer(this.baseUrl, plan);
  }

  request(method: string, path: string, options = {}) {
    return request(this.baseUrl, method, path, options);
  }

  /** Rows of a query, for state that clients cannot read. */
  async sql<Row = any>(text: string, values: unknown[] = []): Promise<Row[]> {
    return (await this.database.query(text, values)).rows as Row[];
  }

  /** Number of statements that wait for a lock in the database of the service. */
  async countLockWaits(): Promise<number> {
    const [row] = await this.sql(
      `SELECT cast(count(*) AS int) AS waiting FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    return row.waiting as number;
  }

  /** Current time by the clock of the service. */
  get now(): Date {
    return new Date(Date.now() + this.clockOffsetMs);
  }

  /** Invariants that rows fabricated by a test violate on purpose. */
  readonly fabricated = new Set<string>();

  /**
   * Fails if an invariant of the database is violated; `isDrained` includes those that hold only when nothing is in
   * progress.
   */
  async checkIntegrity({ isDrained = false } = {}): Promise<void> {
    const client = await this.database.connect();
    try {
      const found = await checkInvariants(client, { isDrained, now: this.now });
      const violations = found.filter(({ invariant }) => !this.fabricated.has(invariant));
      expect(violations, JSON.stringify(violations)).to.deep.equal([]);
    } finally {
      client.release();
    }
  }

  /** Checks the integrity of the database and stops everything. */
  async stop(): Promise<void> {
    try {
      await this.checkIntegrity();
    } finally {
      await this.end();
    }
  }

  /** Stops everything without a check. */
  async end(): Promise<void> {
    removeEnded(this);
    await Promise.allSettled([...this.apis, ...this.workers].map((part) => part.kill()));
    await this.#inProcess?.close();
    await Promise.allSettled([this.upstream.stop(), this.database.end()]);
  }
}

/**
 * Releases a catalog to a migrated database, as the release step does, which takes a process.
 * @throws ConfigError if it cannot be released.
 */
export async function release(databaseUrl: string, CATALOG: string): Promise<void> {
  const config = parseConfig({ DATABASE_URL: databaseUrl, REDIS_URL: requireTestEnv('TEST_REDIS_URL'), CATALOG });
  const database = knex({ client: 'pg', connection: databaseUrl, pool: { min: 0, max: 1 } });
  try {
    await releaseCatalog(database, parseCatalog(config));
  } finally {
    await database.destroy();
  }
}

/** Starts a service: one API and one worker by default. */
export async function startTestService(options: TestServiceOptions = {}): Promise<TestService> {
  const { apis = 1, workers = 1, env = {}, redisUrl } = options;
  const upstream = await new FakeUpstream().start();
  const databaseUrl = options.databaseUrl ?? (await createDatabase());
  const database = new pg.Pool({ connectionString: databaseUrl, max: 4 });
  database.on('error', () => {});
  if (env['CATALOG'] !== undefined && options.isReleased !== false) await release(databaseUrl, env['CATALOG']);
  const id = randomUUID();
  const service = new TestService(
    {
      ...buildServiceEnv({
        databaseUrl,
        redisUrl: redisUrl ?? requireTestEnv('TEST_REDIS_URL'),
        redisPrefix: `test-${id}`,
        mediaDir: join(requireTestEnv('TEST_FOLDER'), 'media', id),
      }),
      FAL_BASE_URL: upstream.url,
      FAL_KEY: 'test',
      MEDIA_FFMPEG_PATH: FAKE_FFMPEG,
      SWEEP_INTERVAL_MS: '500',
      // Far more than a busy machine needs, where requests wait for each other; tests of outages set the deployed
      // value.
      DATABASE_TIMEOUT_MS: '20000',
      ...env,
    },
    database,
    upstream,
    options,
  );
  endWithFile(service, () => service.end());
  await service.startInitialParts({ apis, workers });
  return service;
}

/** Polls a condition every 50 ms, and fails with its description if it never holds. */
export async function eventually(
  description: string,
  isTrue: () => Promise<boolean> | boolean,
  withinMs = 45_000,
): Promise<void> {
  const until = Date.now() + withinMs;
  while (!(await isTrue())) {
    if (Date.now() > until) throw new Error(`Not within ${withinMs} ms: ${description}.`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** {@link startTestService} before the tests of the suite, and stops it after them. */
export const useTestService = (options?: TestServiceOptions): TestService =>
  useService(() => startTestService(options));
