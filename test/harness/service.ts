import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { expect } from 'chai';
import pg from 'pg';
import { ownPort } from './ports.ts';
import { type Customer, newCustomer, request } from './client.ts';
import { createDatabase, setting } from './databases.ts';
import { type ServiceProcess, startProcess } from './processes.ts';
import { StandInUpstream } from '../../dev/standins/upstream.ts';
import { checkInvariants } from '../../shared/domain/invariants/index.ts';

export type Database = pg.Pool;

export interface ServiceOptions {
  apis?: number;
  workers?: number;
  env?: Record<string, string>;
  redisUrl?: string;
}

/** A whole service on a database of its own: real processes, and a stand-in for the model provider. */
export class Service {
  readonly env: Record<string, string>;
  readonly database: Database;
  readonly upstream: StandInUpstream;
  readonly apis: (ServiceProcess & { baseUrl: string })[] = [];
  readonly workers: ServiceProcess[] = [];

  constructor(env: Record<string, string>, database: Database, upstream: StandInUpstream) {
    this.env = env;
    this.database = database;
    this.upstream = upstream;
  }

  /** The address of the first web process. */
  get baseUrl(): string {
    return this.baseUrls[0] as string;
  }

  get baseUrls(): string[] {
    return this.apis.map((api) => api.baseUrl);
  }

  async startApi(env: Record<string, string> = {}): Promise<ServiceProcess & { baseUrl: string }> {
    const port = await ownPort();
    const baseUrl = `http://127.0.0.1:${port}`;
    const settings = { ...this.env, PORT: String(port), HOST: '127.0.0.1', BASE_URL: baseUrl, ...env };
    const api = { ...(await startProcess('api', settings)), baseUrl };
    this.apis.push(api);
    return api;
  }

  async startWorker(env: Record<string, string> = {}): Promise<ServiceProcess> {
    const worker = await startProcess('worker', { ...this.env, ...env });
    this.workers.push(worker);
    return worker;
  }

  customer(plan: string | null = 'pro'): Promise<Customer> {
    return newCustomer(this.baseUrl, plan);
  }

  request(method: string, path: string, options = {}) {
    return request(this.baseUrl, method, path, options);
  }

  /** Rows of a query, for what no client can see. */
  async sql<Row = any>(text: string, values: unknown[] = []): Promise<Row[]> {
    return (await this.database.query(text, values)).rows as Row[];
  }

  /** Now, by the clock of the processes that are started from here on. */
  get now(): Date {
    return new Date(Date.now() + Number(this.env['CLOCK_OFFSET_MS'] ?? 0));
  }

  /** Invariants that rows which a test has made up itself break, of its own will. */
  readonly madeUp = new Set<string>();

  /** Fails unless all holds that must hold of the database; `isSettled`: also what holds once nothing is under way. */
  async checkBooks({ isSettled = false } = {}): Promise<void> {
    const client = await this.database.connect();
    try {
      const found = await checkInvariants(client, { isSettled, now: this.now });
      expect(found.filter(({ invariant }) => !this.madeUp.has(invariant))).to.deep.equal([]);
    } finally {
      client.release();
    }
  }

  /** Checks the books and ends everything. */
  async stop(): Promise<void> {
    try {
      await this.checkBooks();
    } finally {
      await Promise.allSettled([...this.apis, ...this.workers].map((part) => part.kill()));
      await Promise.allSettled([this.upstream.stop(), this.database.end()]);
    }
  }
}

/** Starts a service: one web and one worker process unless told otherwise. */
export async function startService({
  apis = 1,
  workers = 1,
  env = {},
  redisUrl,
}: ServiceOptions = {}): Promise<Service> {
  const upstream = await new StandInUpstream().start();
  const databaseUrl = await createDatabase();
  const database = new pg.Pool({ connectionString: databaseUrl, max: 4 });
  database.on('error', () => {});
  const id = randomUUID();
  const service = new Service(
    {
      DATABASE_URL: databaseUrl,
      REDIS_URL: redisUrl ?? setting('TEST_REDIS_URL'),
      REDIS_PREFIX: `test-${id}`,
      FAL_BASE_URL: upstream.url,
      FAL_KEY: 'test',
      MEDIA_DIR: join(setting('TEST_FOLDER'), 'media', id),
      RATE_LIMITS: 'off',
      SWEEP_INTERVAL_MS: '500',
      ...env,
    },
    database,
    upstream,
  );
  await Promise.all([
    ...Array.from({ length: apis }, () => service.startApi()),
    ...Array.from({ length: workers }, () => service.startWorker()),
  ]);
  return service;
}

/** Waits until something holds, looking every 50 ms, and fails with its description if it never does. */
export async function eventually(
  what: string,
  holds: () => Promise<boolean> | boolean,
  withinMs = 20_000,
): Promise<void> {
  const until = Date.now() + withinMs;
  while (!(await holds())) {
    if (Date.now() > until) throw new Error(`Not within ${withinMs} ms: ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
