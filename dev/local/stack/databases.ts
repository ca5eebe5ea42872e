import { releaseCatalog } from '../../../shared/domain/catalog/release.ts';
import { parseCatalog } from '../../../shared/lib/catalog/catalog.ts';
import type { Config } from '../../../shared/lib/config.ts';
import { join } from 'node:path';
import knex, { type Knex } from 'knex';
import { migrate } from '../../../migrations/migrate.ts';
import { createRedisClient } from '../../../shared/lib/redis.ts';
import { getErrorMessage } from '../servers/errorDetails.ts';
import { startPostgres } from '../servers/postgres.ts';
import { isAlive } from '../servers/processes.ts';
import { startRedis } from '../servers/redis.ts';
import type { RunningServer } from '../servers/runningServer.ts';
import type { Settings } from './settings.ts';

const CONNECT_TIMEOUT_MS = 10_000;
const WATCH_INTERVAL_MS = 1_000;

/** A database server for the service. */
export interface DatabaseServer {
  name: 'Postgres' | 'Redis';
  version: string;
  url: string;
  /** Origin of its program. */
  source: string;
  /** Stops it if this process started it. */
  stop(): Promise<void>;
}

type Log = (line: string) => void;

/**
 * Starts the Postgres of the data folder, or uses the given one.
 * @throws Error if neither works.
 */
export async function openPostgres({ dataDir, externalUrls }: Settings, log: Log): Promise<DatabaseServer> {
  const url = externalUrls.databaseUrl;
  if (url !== undefined)
    return {
      name: 'Postgres',
      version: await readPostgresVersion(url),
      url,
      source: 'DATABASE_URL',
      stop: stopNothing,
    };
  return startSupervised('Postgres', (port) => startPostgres({ dataDir: join(dataDir, 'postgres'), port, log }), log);
}

/**
 * Starts the Redis of the data folder, or uses the given one.
 * @throws Error if neither works.
 */
export async function openRedis({ dataDir, externalUrls }: Settings, log: Log): Promise<DatabaseServer> {
  const url = externalUrls.redisUrl;
  if (url !== undefined)
    return { name: 'Redis', version: await readRedisVersion(url), url, source: 'REDIS_URL', stop: stopNothing };
  return startSupervised('Redis', (port) => startRedis({ dataDir: join(dataDir, 'redis'), port, log }), log);
}

/**
 * Migrates a database to this version of the service, and releases the catalog of CATALOG.
 * @throws ConfigError if the catalog cannot be released.
 */
export async function migrateDatabase(url: string, config: Config): Promise<void> {
  const catalog = parseCatalog(config);
  await withConnection(url, async (db) => {
    await migrate(db);
    await releaseCatalog(db, catalog);
  });
}

async function stopNothing(): Promise<void> {}

function ignoreLog(): void {}

/** Starts a server, and restarts it on the same port if it exits before it is stopped. */
async function startSupervised(
  name: DatabaseServer['name'],
  start: (port?: number) => Promise<RunningServer>,
  log: Log,
): Promise<DatabaseServer> {
  let server = await start();
  const { version, url, port, source: how } = server;
  let isBusy = false;
  const restart = async (): Promise<void> => {
    isBusy = true;
    log(`${name} exited and is being restarted.`);
    try {
      server = await start(port);
    } catch (error) {
      log(`${name} could not be restarted: ${getErrorMessage(error)}`);
    }
    isBusy = false;
  };
  let restarting: Promise<void> = Promise.resolve();
  const watch = setInterval(() => {
    if (!isBusy && server.pid !== null && !isAlive(server.pid)) restarting = restart();
  }, WATCH_INTERVAL_MS);
  return {
    name,
    version,
    url,
    source: how,
    stop: async () => {
      clearInterval(watch);
      await restarting;
      await server.stop();
    },
  };
}

async function readPostgresVersion(url: string): Promise<string> {
  try {
    return await withConnection(url, async (db) => {
      const answer: { rows: { server_version: string }[] } = await db.raw('SHOW server_version');
      return answer.rows[0]!.server_version.split(' ')[0]!;
    });
  } catch (error) {
    throw new Error(`DATABASE_URL is not a usable Postgres (${getErrorMessage(error)}).`, {
      cause: error,
    });
  }
}

async function readRedisVersion(url: string): Promise<string> {
  const options = { lazyConnect: true, connectTimeout: CONNECT_TIMEOUT_MS, retryStrategy: () => null } as const;
  const redis = createRedisClient(url, { ...options, isCertificateVerified: true });
  let problem = '';
  redis.on('error', (error: Error) => (problem = error.message));
  try {
    await redis.connect();
    return /^(?:valkey|redis)_version:(\S+)/m.exec(await redis.info('server'))?.[1] ?? 'of unknown version';
  } catch (error) {
    throw new Error(`REDIS_URL is not a usable Redis (${problem || getErrorMessage(error)}).`, {
      cause: error,
    });
  } finally {
    redis.disconnect();
  }
}

async function withConnection<Result>(url: string, work: (db: Knex) => Promise<Result>): Promise<Result> {
  const connection = { connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS };
  const db = knex({
    client: 'pg',
    connection: connection as Knex.PgConnectionConfig,
    pool: { min: 0, max: 1 },
    // Problems are thrown, and need not be logged as well.
    log: { error: ignoreLog, warn: ignoreLog },
  });
  try {
    return await work(db);
  } finally {
    await db.destroy();
  }
}
