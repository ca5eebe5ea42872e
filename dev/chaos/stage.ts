import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import pg from 'pg';
import { runService } from '../servers/builtService.ts';
import { freePort } from '../servers/ports.ts';
import { Proxy } from '../servers/proxy.ts';
import { makeScratchFolder } from '../servers/scratch.ts';
import { StripeStandIn } from '../standins/stripe/standIn.ts';
import type { StandInUpstream } from '../standins/upstream.ts';
import { startChanceUpstream } from './chanceUpstream.ts';
import { LOG } from './log.ts';
import { makeSmallDisk, type SmallDisk } from './disk.ts';
import { type Part, startPart } from './part.ts';
import type { Random } from '../random.ts';
import { repeatJobs } from './repeatJobs.ts';
import { type Server, startPostgresServer, startRedisServer } from './server.ts';

/** Which processes are kept from a server: each kind goes through a proxy of its own. */
export type Side = 'apis' | 'workers';
type Proxies = Record<Side, Proxy>;

/** Everything that a run takes place on. */
export interface Stage {
  folder: string;
  /** What it runs on, in words. */
  how: string;
  postgres: Server;
  redis: Server;
  /** Null where this machine does not allow one; `diskProblem` then says why. */
  disk: SmallDisk | null;
  diskProblem: string | null;
  proxies: { postgres: Proxies; redis: Proxies; apis: Proxy[]; upstream: Proxy };
  upstream: StandInUpstream;
  stripe: StripeStandIn;
  parts: Map<string, Part>;
  /** The web processes, as clients reach them. */
  addresses: string[];
  /** Of the service's database, by no proxy. */
  databaseUrl: string;
  /** What went wrong of itself: processes that ended though nobody ended them. */
  endedByThemselves: string[];
  /** Whether everybody comes at once. */
  isRush: boolean;
  /** The service's time. */
  now(): Date;
  /** How much of it `passTime` has let pass. */
  passedMs(): number;
  /** Brings jobs of the queues again, so many times at once; one of them only, if it is named. */
  repeatJobs(times: number, only?: string): Promise<void>;
  /** Forgets everything that is in Redis. */
  emptyRedis(): Promise<void>;
  /** Moves everybody's time: all processes, and the payment processor. */
  passTime(milliseconds: number): void;
  /** Ends what runs; `keeps` leaves the folder. */
  close(keeps: boolean): Promise<void>;
}

export interface StageOptions {
  random: Random;
  /** Where the build is. */
  build: string;
  /** Run in the migrated database before the service starts: for bugs that are planted. */
  sql: string[];
}

const APIS = 2;
const WORKERS = 2;
const PREFIX = 'chaos';
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** Starts servers, stand-ins, proxies and the service. */
export async function setStage({ random, build, sql }: StageOptions): Promise<Stage> {
  const folder = makeScratchFolder('chaos-');
  const closers: (() => unknown)[] = [];
  const onSignal = (signal: string) => {
    process.stderr.write(`Ended by ${signal}: tidying up.\n`);
    void close(false).then(() => process.exit(1));
  };
  for (const signal of SIGNALS) process.once(signal, onSignal);
  const close = async (keeps: boolean) => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
    for (const closer of closers.toReversed()) await Promise.resolve(closer()).catch(() => {});
    if (keeps) for (const data of ['postgres', 'redis', 'media', 'disk']) remove(join(folder, data));
    else remove(folder);
  };
  try {
    const [postgres, redis] = await Promise.all([
      startPostgresServer(join(folder, 'postgres')),
      startRedisServer(join(folder, 'redis')),
    ]);
    closers.push(
      () => postgres.stop(),
      () => redis.stop(),
    );
    const disk = await makeSmallDisk(join(folder, 'disk'), clusterOf(join(folder, 'postgres')));
    if (typeof disk !== 'string') closers.unshift(() => disk.remove());
    const databaseUrl = await makeDatabase(postgres.url, typeof disk === 'string' ? null : disk.folder);

    const through = async (url: string) => {
      const proxy = await new Proxy(url).start();
      closers.push(() => proxy.stop());
      return proxy;
    };
    const upstream = await startChanceUpstream(random.fork('upstream'));
    closers.push(() => upstream.stop());
    const upstreamProxy = await through(upstream.url);
    // What it answers leads back through the proxy.
    upstream.url = upstreamProxy.url.replace(/\/$/, '');
    const stripe = await new StripeStandIn({ seed: random.fork('stripe').below(2 ** 31) }).start();
    closers.push(() => stripe.stop());
    const proxies = {
      postgres: { apis: await through(databaseUrl), workers: await through(databaseUrl) },
      redis: { apis: await through(redis.url), workers: await through(redis.url) },
      apis: [] as Proxy[],
      upstream: upstreamProxy,
    };

    const logs = join(folder, 'logs');
    mkdirSync(logs);
    const shared = environment(folder, stripe, upstream.url);
    await runService(join(build, 'dist/migrations/main.js'), {
      ...shared,
      DATABASE_URL: databaseUrl,
      REDIS_URL: redis.url,
    });
    await perform(databaseUrl, [LOG, ...sql]);

    const parts = new Map<string, Part>();
    const endedByThemselves: string[] = [];
    const start = (side: Side, index: number, env: Record<string, string>) => {
      const name = `${side.slice(0, -1)} ${index}`;
      const part = startPart({
        name,
        main: side === 'apis' ? 'dist/api/main.js' : 'dist/worker/main.js',
        folder: build,
        env: { ...shared, DATABASE_URL: proxies.postgres[side].url, REDIS_URL: proxies.redis[side].url, ...env },
        logFile: join(logs, `${name.replace(' ', '-')}.log`),
        onEndedByItself: (_, status) => endedByThemselves.push(`${name} ended with ${status}`),
      });
      parts.set(name, part);
      closers.push(() => part.end());
    };
    for (let index = 1; index <= APIS; index += 1) {
      const port = await freePort();
      const proxy = await through(`http://127.0.0.1:${port}`);
      proxies.apis.push(proxy);
      const address = proxy.url.replace(/\/$/, '');
      start('apis', index, { PORT: String(port), HOST: '127.0.0.1', BASE_URL: address });
    }
    for (let index = 1; index <= WORKERS; index += 1) start('workers', index, {});
    const addresses = proxies.apis.map(({ url }) => url.replace(/\/$/, ''));
    stripe.webhookUrl = `${addresses[0]}/api/billing/webhooks/processor/`;

    let passedMs = 0;
    stripe.delivery.now = () => Date.now() + passedMs;
    const stage: Stage = {
      folder,
      how: `${postgres.how}, ${redis.how}, node ${process.version}`,
      postgres,
      redis,
      disk: typeof disk === 'string' ? null : disk,
      diskProblem: typeof disk === 'string' ? disk : null,
      proxies,
      upstream,
      stripe,
      parts,
      addresses,
      databaseUrl,
      endedByThemselves,
      isRush: false,
      now: () => new Date(Date.now() + passedMs),
      passedMs: () => passedMs,
      repeatJobs: (times, only) => repeatJobs(stage, PREFIX, times, only),
      emptyRedis: () => emptyRedis(redis.url),
      passTime: (milliseconds) => {
        passedMs += milliseconds;
        for (const part of parts.values()) part.setClock(passedMs);
        stripe.jumpTo(new Date(Date.now() + passedMs));
      },
      close,
    };
    return stage;
  } catch (error) {
    await close(false);
    throw error;
  }
}

/** The service's configuration: its defaults, but for what would keep one machine from asking often. */
function environment(folder: string, stripe: StripeStandIn, upstreamUrl: string): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '',
    NODE_ENV: 'test',
    LOG_LEVEL: 'warn',
    REDIS_PREFIX: PREFIX,
    RATE_LIMITS: 'off',
    // So that models are back soon after what kept them from being probed, and there is much to break.
    PROBE_INTERVAL_MS: '3000',
    MEDIA_DIR: join(folder, 'media'),
    FAL_BASE_URL: upstreamUrl,
    FAL_KEY: 'chaos',
    ...stripe.environment,
  };
}

/** The folder of the data, whose owner Postgres runs as: where the account could not enter ours, it is elsewhere. */
function clusterOf(dataDir: string): string {
  const cluster = join(dataDir, 'cluster');
  return readdirSync(dataDir).includes('cluster') ? cluster : dataDir;
}

/** @param tables a folder on the disk that can be filled; null leaves them with the other data. */
async function makeDatabase(serverUrl: string, tables: string | null): Promise<string> {
  const client = new pg.Client({ connectionString: serverUrl });
  await client.connect();
  try {
    if (tables !== null) await client.query(`CREATE TABLESPACE small LOCATION '${tables}'`);
    await client.query(`CREATE DATABASE chaos${tables === null ? '' : ' TABLESPACE small'}`);
  } finally {
    await client.end();
  }
  return serverUrl.replace(/[^/]+$/, 'chaos');
}

async function perform(databaseUrl: string, statements: string[]): Promise<void> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  for (const statement of statements) await client.query(statement);
  await client.end();
}

async function emptyRedis(url: string): Promise<void> {
  const client = new Redis(url, { lazyConnect: true, maxRetriesPerRequest: 1 });
  try {
    await client.connect();
    await client.flushall();
  } finally {
    client.disconnect();
  }
}

function remove(path: string): void {
  rmSync(path, { recursive: true, force: true, maxRetries: 3 });
}
