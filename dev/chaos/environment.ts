import { readdirSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { SECOND_CATALOG } from './catalogs.ts';
import { ClockWatch } from './clockWatch.ts';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { SQL_FUNCTIONS } from '../../shared/domain/features.ts';
import { ROOT } from '../local/environment/build.ts';
import { createDatabase, executeStatements } from '../local/environment/databases.ts';
import { createEnvironment } from '../local/environment/environment.ts';
import { createScratchFolder } from '../local/environment/scratchFolder.ts';
import { findFreePort } from '../local/servers/ports.ts';
import { startPostgres } from '../local/servers/postgres.ts';
import { startRedis } from '../local/servers/redis.ts';
import { FaultProxy } from '../../test/fakes/faultProxy.ts';
import { FakeStripe } from '../../test/fakes/stripe/fakeStripe.ts';
import { sendRandomCallbacks } from './randomCallbacks.ts';
import { startRandomUpstream } from './randomUpstream.ts';
import { GIFT_CODES_SQL } from './clients/actions/staff.ts';
import { AUDIT_TRIGGERS_SQL } from './auditTriggers.ts';
import { PAUSE_TRIGGERS_SQL } from './pausedTransactions.ts';
import { startModeration } from './moderation.ts';
import { mountSmallDisk } from './smallDisk.ts';
import { ManagedProcess } from './managedProcess.ts';
import type { SeededRandom } from '../../test/fakes/seededRandom.ts';
import { enqueueDuplicateJobs } from './duplicateJobs.ts';
import { MailReceiver } from './mailReceiver.ts';
import { WebhookReceiver } from './webhookReceiver.ts';
import { controlServer } from './controlledServer.ts';

/** The processes that a proxy cuts off from a server: each kind has a proxy of its own. */
export type ProxySide = 'apis' | 'workers';

/** Servers, fakes, proxies and processes of a run. */
export type ChaosEnvironment = Awaited<ReturnType<typeof startChaosEnvironment>>;

interface ChaosEnvironmentOptions {
  random: SeededRandom;
  /** Folder of the build. */
  build: string;
  /** Statements for the migrated database, run before the service starts, which seed bugs. */
  sql: string[];
  isModerated: boolean;
}

const APIS = 2;
const WORKERS = 2;
const REDIS_PREFIX = 'chaos';
/** Data must survive the death of a process, but not a power cut of this machine. */
const POSTGRES_SETTINGS = { fsync: 'off', full_page_writes: 'off', max_connections: '120', checkpoint_timeout: '30s' };

/** Starts servers, fakes, proxies and the service. */
export async function startChaosEnvironment({ random, build, sql, isModerated }: ChaosEnvironmentOptions) {
  const folder = createScratchFolder('chaos-');
  const environment = await createEnvironment({
    folder,
    build,
    postgresSettings: POSTGRES_SETTINGS,
    redisPrefix: REDIS_PREFIX,
    env: CHAOS_ENV,
  });
  const { closers, description } = environment;
  const dataDir = join(folder, 'postgres');
  const close = async (keepsLogs: boolean) => {
    try {
      // Postgres names the statements of a deadlock in its log only.
      if (keepsLogs) await cp(join(dataDir, 'postgres.log'), join(folder, 'logs', 'postgres.log'));
    } finally {
      await environment.close({ keepsLogs });
    }
  };
  try {
    const postgres = controlServer(environment.postgres, (port) =>
      startPostgres({ dataDir, settings: POSTGRES_SETTINGS, port }),
    );
    const redis = controlServer(environment.redis, (port) => startRedis({ dataDir: join(folder, 'redis'), port }));
    closers.add(
      () => postgres.stop(),
      () => redis.stop(),
    );
    const disk = await mountSmallDisk(join(folder, 'disk'), findClusterFolder(dataDir));
    if (typeof disk !== 'string') closers.addLast(() => disk.remove());
    const databaseUrl = await createChaosDatabase(postgres.url, typeof disk === 'string' ? null : disk.folder);

    const openProxy = async (url: string) => {
      const proxy = await new FaultProxy(url).start();
      closers.add(() => proxy.stop());
      return proxy;
    };
    const upstream = await startRandomUpstream(random.fork('upstream'));
    closers.add(() => upstream.stop());
    const upstreamProxy = await openProxy(upstream.url);
    // The URLs in its responses lead back through the proxy.
    upstream.url = upstreamProxy.url.replace(/\/$/, '');
    const stripe = await new FakeStripe({ seed: random.fork('stripe').nextBelow(2 ** 31) }).start();
    closers.add(() => stripe.stop());
    const advances: { at: number; milliseconds: number }[] = [];
    const getAdvancedMs = (at = Date.now()) =>
      advances.reduce((sum, advance) => (advance.at <= at ? sum + advance.milliseconds : sum), 0);
    const now = (at = Date.now()) => new Date(at + getAdvancedMs(at));
    sendRandomCallbacks(upstream, random.fork('callbacks'), () => now());
    const receiver = await new WebhookReceiver(random.fork('webhooks'), () => getAdvancedMs()).start();
    closers.add(() => receiver.close());
    const mailReceiver = await new MailReceiver(random.fork('mail')).start();
    closers.add(() => mailReceiver.stop());
    const moderation = isModerated ? await startModeration() : null;
    closers.add(async () => moderation?.service.stop());
    const proxies = {
      postgres: { apis: await openProxy(databaseUrl), workers: await openProxy(databaseUrl) },
      redis: { apis: await openProxy(redis.url), workers: await openProxy(redis.url) },
      apis: [] as FaultProxy[],
      upstream: upstreamProxy,
    };

    // The default one is released last, because commands use it.
    await environment.migrate(databaseUrl, { CATALOG: SECOND_CATALOG });
    await environment.migrate(databaseUrl);
    // The invariants call the functions of this checkout, also while the build has a seeded bug in them.
    const functions = SQL_FUNCTIONS.map(({ text }) => text.replace('CREATE FUNCTION', 'CREATE OR REPLACE FUNCTION'));
    await executeStatements(databaseUrl, ...functions, GIFT_CODES_SQL, AUDIT_TRIGGERS_SQL, PAUSE_TRIGGERS_SQL, ...sql);

    const processes = new Map<string, ManagedProcess>();
    const unexpectedExits: string[] = [];
    const start = (program: 'api' | 'worker', index: number, ownEnv: Record<string, string>) => {
      const name = `${program} ${index}`;
      const side = `${program}s` as const;
      const options = {
        databaseUrl: proxies.postgres[side].url,
        redisUrl: proxies.redis[side].url,
        env: {
          ...stripe.environment,
          FAL_BASE_URL: upstream.url,
          TEST_UPSTREAM_URL: upstream.url,
          SMTP_URL: mailReceiver.url,
          ...(moderation === null ? {} : { MODERATION_URL: `${moderation.service.url}/check` }),
          ...ownEnv,
        },
        logName: name.replace(' ', '-'),
      };
      // Half of the starts of a process change its catalog, as deployments do.
      const catalogs = random.fork(`catalog of ${name}`);
      const chooseCatalog = (): Record<string, string> => (catalogs.chance(0.5) ? { CATALOG: SECOND_CATALOG } : {});
      const managedProcess = new ManagedProcess(
        (clockOffsetMs) =>
          environment.launch(program, { ...options, env: { ...options.env, ...chooseCatalog() }, clockOffsetMs }),
        (status) => unexpectedExits.push(`${name} exited with ${status}`),
      );
      processes.set(name, managedProcess);
      closers.add(() => managedProcess.stop());
    };
    for (let index = 1; index <= APIS; index += 1) {
      const port = await findFreePort();
      const proxy = await openProxy(`http://127.0.0.1:${port}`);
      proxies.apis.push(proxy);
      const address = proxy.url.replace(/\/$/, '');
      start('api', index, {
        PORT: String(port),
        HOST: '127.0.0.1',
        BASE_URL: address,
        UPSTREAMS: callbacksVia(address),
      });
    }
    const addresses = proxies.apis.map(({ url }) => url.replace(/\/$/, ''));
    for (let index = 1; index <= WORKERS; index += 1)
      start('worker', index, { UPSTREAMS: callbacksVia(addresses[index % APIS] as string) });
    stripe.webhookUrl = `${addresses[0]}/api/billing/webhooks/processor/`;

    stripe.delivery.now = () => now().getTime();
    const clocks = new ClockWatch();
    const chaosEnvironment = {
      folder,
      /** Describes the servers and their versions. */
      description,
      postgres,
      redis,
      /** Null if this machine does not allow one; `diskProblem` then contains the reason. */
      disk: typeof disk === 'string' ? null : disk,
      diskProblem: typeof disk === 'string' ? disk : null,
      proxies,
      upstream,
      stripe,
      receiver,
      mailReceiver,
      /** Null if creates are not moderated. */
      moderation,
      processes,
      /** Addresses of the API processes. */
      addresses,
      /** Address of the service's database, without a proxy. */
      databaseUrl,
      /** Processes that ended although no fault ended them. */
      unexpectedExits,
      /** True during a rush, when all clients act on many accounts at once. */
      isRush: false,
      clocks,
      /** Time of the service at a time of `Date.now`; default: now. */
      now,
      /** Moves of all clocks, at times of `Date.now`, and their sum. */
      advances,
      advancedMs: () => getAdvancedMs(),
      /** Enqueues scheduled jobs this many times at once; only one of them if it is named. */
      enqueueDuplicateJobs: (times: number, only?: string) =>
        enqueueDuplicateJobs(redis.url, REDIS_PREFIX, times, only),
      /** Runs a command of `npm run admin`. @returns whether it succeeded. */
      runAdmin: (args: string[]) => environment.runAdmin(databaseUrl, args, getAdvancedMs()),
      emptyRedis: () => emptyRedis(redis.url),
      /** Moves the clocks of all processes and of the payment processor. */
      advanceTime: (milliseconds: number) => {
        advances.push({ at: Date.now(), milliseconds });
        clocks.disturb();
        const moved = [...processes.values()].map((managedProcess) => managedProcess.setClock(getAdvancedMs()));
        void clocks.correct(Promise.all(moved));
        stripe.jumpTo(now());
      },
      /** Stops everything and deletes the folder, except for the logs if they are kept. */
      close,
    };
    for (const each of [receiver, mailReceiver]) each.isPatient = () => chaosEnvironment.isRush;
    return chaosEnvironment;
  } catch (error) {
    await close(false);
    throw error;
  }
}

/** Value of UPSTREAMS with which the upstream calls the API at an address. */
const callbacksVia = (address: string) => JSON.stringify({ upstreams: { fal: { callbacks: address } } });

/** The default configuration otherwise; the addresses of the fakes are added to it. */
const CHAOS_ENV = {
  NODE_ENV: 'test',
  LOG_LEVEL: 'warn',
  // Models recover soon after a fault of their probes, so that there is enough to break.
  PROBE_INTERVAL_MS: '3000',
  // The receiver of webhooks is on this machine.
  WEBHOOK_ADDRESSES: 'any',
  MAIL_FROM: 'no-reply@example.com',
  FAL_KEY: 'chaos',
  // Videos of the fake upstream have no frame that a decoder could find.
  MEDIA_FFMPEG_PATH: join(ROOT, 'test/fakes/ffmpeg.sh'),
  MODERATION_TIMEOUT_MS: '800',
};

/** The data folder, whose owner Postgres runs as. It is elsewhere if that account cannot enter ours. */
function findClusterFolder(dataDir: string): string {
  const cluster = join(dataDir, 'cluster');
  return readdirSync(dataDir).includes('cluster') ? cluster : dataDir;
}

/** @param tables a folder on the small disk; null leaves the tables with the other data. */
async function createChaosDatabase(serverUrl: string, tables: string | null): Promise<string> {
  if (tables === null) return createDatabase(serverUrl, 'chaos');
  await executeStatements(serverUrl, `CREATE TABLESPACE small LOCATION '${tables}'`);
  return createDatabase(serverUrl, 'chaos', 'TABLESPACE small');
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
