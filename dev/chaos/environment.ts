import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import pg from 'pg';
import { runBuiltProgram } from '../local/builtProcess.ts';
import { findFreePort } from '../local/servers/ports.ts';
import { FaultProxy } from '../../test/fakes/faultProxy.ts';
import { createScratchFolder } from '../local/scratchFolder.ts';
import { FakeStripe } from '../../test/fakes/stripe/fakeStripe.ts';
import type { FakeFal } from '../../test/fakes/upstreams/fal.ts';
import { startRandomUpstream } from './randomUpstream.ts';
import { AUDIT_TRIGGERS_SQL } from './auditTriggers.ts';
import { mountSmallDisk, type SmallDisk } from './smallDisk.ts';
import { type ManagedProcess, startManagedProcess } from './managedProcess.ts';
import type { SeededRandom } from '../../test/fakes/seededRandom.ts';
import { enqueueDuplicateJobs } from './duplicateJobs.ts';
import { type ControlledServer, startControlledPostgres, startControlledRedis } from './controlledServer.ts';

/** Which processes are kept from a server: each kind goes through a proxy of its own. */
export type ProxySide = 'apis' | 'workers';
type SideProxies = Record<ProxySide, FaultProxy>;

/** Everything that a run takes place on. */
export interface ChaosEnvironment {
  folder: string;
  /** What it runs on, in words. */
  description: string;
  postgres: ControlledServer;
  redis: ControlledServer;
  /** Null where this machine does not allow one; `diskProblem` then says why. */
  disk: SmallDisk | null;
  diskProblem: string | null;
  proxies: { postgres: SideProxies; redis: SideProxies; apis: FaultProxy[]; upstream: FaultProxy };
  upstream: FakeFal;
  stripe: FakeStripe;
  processes: Map<string, ManagedProcess>;
  /** The web processes, as clients reach them. */
  addresses: string[];
  /** Of the service's database, by no proxy. */
  databaseUrl: string;
  /** What went wrong of itself: processes that ended though nobody ended them. */
  unexpectedExits: string[];
  /** Whether everybody comes at once. */
  isRush: boolean;
  /** The service's time. */
  now(): Date;
  /** How much of it `passTime` has let pass. */
  advancedMs(): number;
  /** Brings jobs of the queues again, so many times at once; one of them only, if it is named. */
  enqueueDuplicateJobs(times: number, only?: string): Promise<void>;
  /** Forgets everything that is in Redis. */
  emptyRedis(): Promise<void>;
  /** Moves everybody's time: all processes, and the payment processor. */
  advanceTime(milliseconds: number): void;
  /** Ends what runs; `keeps` leaves the folder. */
  close(keeps: boolean): Promise<void>;
}

export interface ChaosEnvironmentOptions {
  random: SeededRandom;
  /** Where the build is. */
  build: string;
  /** Run in the migrated database before the service starts: for bugs that are planted. */
  sql: string[];
}

const APIS = 2;
const WORKERS = 2;
const REDIS_PREFIX = 'chaos';
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** Starts servers, stand-ins, proxies and the service. */
export async function startChaosEnvironment({
  random,
  build,
  sql,
}: ChaosEnvironmentOptions): Promise<ChaosEnvironment> {
  const folder = createScratchFolder('chaos-');
  const closers: (() => unknown)[] = [];
  const onSignal = (signal: string) => {
    process.stderr.write(`Ended by ${signal}: tidying up.\n`);
    void close(false).then(() => process.exit(1));
  };
  for (const signal of SIGNALS) process.once(signal, onSignal);
  const close = async (keepsFiles: boolean) => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
    for (const closer of closers.toReversed()) await Promise.resolve(closer()).catch(() => {});
    if (keepsFiles) for (const data of ['postgres', 'redis', 'media', 'disk']) removeFolder(join(folder, data));
    else removeFolder(folder);
  };
  try {
    const [postgres, redis] = await Promise.all([
      startControlledPostgres(join(folder, 'postgres')),
      startControlledRedis(join(folder, 'redis')),
    ]);
    closers.push(
      () => postgres.stop(),
      () => redis.stop(),
    );
    const disk = await mountSmallDisk(join(folder, 'disk'), findClusterFolder(join(folder, 'postgres')));
    if (typeof disk !== 'string') closers.unshift(() => disk.remove());
    const databaseUrl = await createChaosDatabase(postgres.url, typeof disk === 'string' ? null : disk.folder);

    const openProxy = async (url: string) => {
      const proxy = await new FaultProxy(url).start();
      closers.push(() => proxy.stop());
      return proxy;
    };
    const upstream = await startRandomUpstream(random.fork('upstream'));
    closers.push(() => upstream.stop());
    const upstreamProxy = await openProxy(upstream.url);
    // What it answers leads back through the proxy.
    upstream.url = upstreamProxy.url.replace(/\/$/, '');
    const stripe = await new FakeStripe({ seed: random.fork('stripe').nextBelow(2 ** 31) }).start();
    closers.push(() => stripe.stop());
    const proxies = {
      postgres: { apis: await openProxy(databaseUrl), workers: await openProxy(databaseUrl) },
      redis: { apis: await openProxy(redis.url), workers: await openProxy(redis.url) },
      apis: [] as FaultProxy[],
      upstream: upstreamProxy,
    };

    const logs = join(folder, 'logs');
    mkdirSync(logs);
    const shared = buildServiceEnv(folder, stripe, upstream.url);
    await runBuiltProgram(join(build, 'dist/migrations/main.js'), {
      ...shared,
      DATABASE_URL: databaseUrl,
      REDIS_URL: redis.url,
    });
    await executeStatements(databaseUrl, [AUDIT_TRIGGERS_SQL, ...sql]);

    const processes = new Map<string, ManagedProcess>();
    const unexpectedExits: string[] = [];
    const start = (side: ProxySide, index: number, env: Record<string, string>) => {
      const name = `${side.slice(0, -1)} ${index}`;
      const managedProcess = startManagedProcess({
        name,
        main: side === 'apis' ? 'dist/api/main.js' : 'dist/worker/main.js',
        folder: build,
        env: { ...shared, DATABASE_URL: proxies.postgres[side].url, REDIS_URL: proxies.redis[side].url, ...env },
        logFile: join(logs, `${name.replace(' ', '-')}.log`),
        onUnexpectedExit: (_, status) => unexpectedExits.push(`${name} ended with ${status}`),
      });
      processes.set(name, managedProcess);
      closers.push(() => managedProcess.stop());
    };
    for (let index = 1; index <= APIS; index += 1) {
      const port = await findFreePort();
      const proxy = await openProxy(`http://127.0.0.1:${port}`);
      proxies.apis.push(proxy);
      const address = proxy.url.replace(/\/$/, '');
      start('apis', index, { PORT: String(port), HOST: '127.0.0.1', BASE_URL: address });
    }
    for (let index = 1; index <= WORKERS; index += 1) start('workers', index, {});
    const addresses = proxies.apis.map(({ url }) => url.replace(/\/$/, ''));
    stripe.webhookUrl = `${addresses[0]}/api/billing/webhooks/processor/`;

    let advancedMs = 0;
    stripe.delivery.now = () => Date.now() + advancedMs;
    const chaosEnvironment: ChaosEnvironment = {
      folder,
      description: `${postgres.source}, ${redis.source}, node ${process.version}`,
      postgres,
      redis,
      disk: typeof disk === 'string' ? null : disk,
      diskProblem: typeof disk === 'string' ? disk : null,
      proxies,
      upstream,
      stripe,
      processes,
      addresses,
      databaseUrl,
      unexpectedExits,
      isRush: false,
      now: () => new Date(Date.now() + advancedMs),
      advancedMs: () => advancedMs,
      enqueueDuplicateJobs: (times, only) => enqueueDuplicateJobs(chaosEnvironment, REDIS_PREFIX, times, only),
      emptyRedis: () => emptyRedis(redis.url),
      advanceTime: (milliseconds) => {
        advancedMs += milliseconds;
        for (const managedProcess of processes.values()) managedProcess.setClock(advancedMs);
        stripe.jumpTo(new Date(Date.now() + advancedMs));
      },
      close,
    };
    return chaosEnvironment;
  } catch (error) {
    await close(false);
    throw error;
  }
}

/** The service's configuration: its defaults, but for what would keep one machine from asking often. */
function buildServiceEnv(folder: string, stripe: FakeStripe, upstreamUrl: string): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '',
    NODE_ENV: 'test',
    LOG_LEVEL: 'warn',
    REDIS_PREFIX: REDIS_PREFIX,
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
function findClusterFolder(dataDir: string): string {
  const cluster = join(dataDir, 'cluster');
  return readdirSync(dataDir).includes('cluster') ? cluster : dataDir;
}

/** @param tables a folder on the disk that can be filled; null leaves them with the other data. */
async function createChaosDatabase(serverUrl: string, tables: string | null): Promise<string> {
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

async function executeStatements(databaseUrl: string, statements: string[]): Promise<void> {
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

function removeFolder(path: string): void {
  rmSync(path, { recursive: true, force: true, maxRetries: 3 });
}
