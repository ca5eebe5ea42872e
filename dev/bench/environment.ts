import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type pg from 'pg';
import { Closers } from '../local/closers.ts';
import { connectTo, createDatabase } from '../local/databases.ts';
import { buildServiceEnv } from '../local/serviceEnv.ts';
import { findFreePort } from '../local/servers/ports.ts';
import { type RunningServer, startPostgres } from '../local/servers/postgres.ts';
import { startRedis } from '../local/servers/redis.ts';
import { type BenchChild, startBenchChild } from './childProcess.ts';
import type { BenchOptions } from './options.ts';
import {
  buildDist,
  runBuiltProgram,
  type BuiltProcess,
  startBuiltProcess,
  waitUntilHealthy,
} from '../local/builtProcess.ts';

export interface BenchApi extends BuiltProcess {
  port: number;
}

/** The environment of a measurement: servers of its own, the built service, and processes that generate load. */
export interface BenchEnvironment {
  options: BenchOptions;
  postgres: RunningServer;
  redis: RunningServer;
  log(line: string): void;
  /** Creates a migrated, empty database, and opens a client on it. */
  database(name: string): Promise<{ url: string; client: pg.Client }>;
  api(databaseUrl: string, env?: NodeJS.ProcessEnv): Promise<BenchApi>;
  worker(databaseUrl: string, env: NodeJS.ProcessEnv): Promise<BuiltProcess>;
  /** Starts a module of the bench as a process with the service's configuration for a database. */
  child(module: string, databaseUrl: string): Promise<BenchChild>;
  close(): Promise<void>;
}

/** Flushes to disk as in production. Only checkpoints are kept out of the rounds. */
const POSTGRES_SETTINGS = {
  shared_buffers: '256MB',
  max_connections: '300',
  max_wal_size: '8GB',
  checkpoint_timeout: '1h',
};
export const REDIS_PREFIX = 'bench';

/** Starts the servers, builds the service and migrates the database that the others are copied from. */
export async function startBenchEnvironment(
  options: BenchOptions,
  log: (line: string) => void,
): Promise<BenchEnvironment> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-'));
  // If root runs the bench, Postgres runs as another account, which needs to reach its data.
  chmodSync(folder, 0o711);
  const closers = new Closers();
  closers.add(() => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  const close = () => closers.close((error) => log(error.message));

  try {
    if (!options.isBuilt) await buildDist();
    const postgres = await startPostgres({ dataDir: join(folder, 'postgres'), settings: POSTGRES_SETTINGS });
    closers.add(() => postgres.stop());
    const redis = await startRedis({ dataDir: join(folder, 'redis') });
    closers.add(() => redis.stop());
    log(`${postgres.source}, ${redis.source}, node ${process.version}`);
    await runBuiltProgram('dist/migrations/main.js', buildBenchEnv(postgres.url, redis.url, folder));
    let logs = 0;

    async function start(script: string, databaseUrl: string, env: NodeJS.ProcessEnv): Promise<BuiltProcess> {
      logs += 1;
      const service = await startBuiltProcess(script, {
        env: { ...buildBenchEnv(databaseUrl, redis.url, folder), ...env },
        logFile: join(folder, `service-${logs}.log`),
        profileDir: options.profile,
      });
      let ending: Promise<string> | undefined;
      const end = async () => {
        ending ??= service.end();
        const output = await ending;
        reportWarnings(script, output, log);
        return output;
      };
      closers.add(end);
      return { ...service, end };
    }

    return {
      options,
      postgres,
      redis,
      log,
      close,
      database: async (name) => {
        const url = await createDatabase(postgres.url, name, 'TEMPLATE genmeter');
        const client = await connectTo(url);
        closers.add(() => client.end());
        return { url, client };
      },
      api: async (databaseUrl, env = {}) => {
        const port = await findFreePort();
        const service = await start('dist/api/main.js', databaseUrl, { ...env, PORT: String(port), HOST: '127.0.0.1' });
        await waitUntilHealthy(`http://127.0.0.1:${port}/api/health/`);
        return { ...service, port };
      },
      worker: (databaseUrl, env) => start('dist/worker/main.js', databaseUrl, env),
      child: async (module, databaseUrl) => {
        const env = buildBenchEnv(databaseUrl, redis.url, folder);
        const child = await startBenchChild(new URL(module, import.meta.url), env);
        closers.add(() => child.end());
        return child;
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The service's default configuration, independent of the variables in the caller's environment. */
function buildBenchEnv(databaseUrl: string, redisUrl: string, folder: string): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR, SystemRoot } = process.env;
  return {
    PATH,
    HOME,
    TMPDIR,
    SystemRoot,
    ...buildServiceEnv({ databaseUrl, redisUrl, redisPrefix: REDIS_PREFIX, mediaDir: join(folder, 'media') }),
    LOG_LEVEL: 'warn',
  };
}

function reportWarnings(script: string, log: string, reportLine: (line: string) => void): void {
  const lines = log.split('\n').filter((line) => line !== '');
  if (lines.length > 0) reportLine(`${script} logged ${lines.length} warnings, the first: ${lines[0]?.slice(0, 300)}`);
}
