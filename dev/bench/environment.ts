import { join } from 'node:path';
import type pg from 'pg';
import { buildDist } from '../local/environment/build.ts';
import { connectTo, createDatabase } from '../local/environment/databases.ts';
import { createEnvironment } from '../local/environment/environment.ts';
import type { Program } from '../local/environment/program.ts';
import { createScratchFolder } from '../local/environment/scratchFolder.ts';
import type { RunningServer } from '../local/servers/runningServer.ts';
import { type BenchChild, type BenchProcess, startBenchChild } from './childProcess.ts';
import type { BenchOptions } from './options.ts';

export interface BenchApi extends BenchProcess {
  port: number;
}

/** The environment of a measurement: servers of its own, the built service, and processes that generate load. */
export interface BenchEnvironment {
  options: BenchOptions;
  postgres: RunningServer;
  redis: RunningServer;
  log(line: string): void;
  /**
   * Creates a migrated, empty database, and opens a client on it.
   * @param checkout another version, which migrates it.
   */
  database(name: string, checkout?: string): Promise<{ url: string; client: pg.Client }>;
  /** Releases a catalog on a database. */
  release(databaseUrl: string, catalog: string): Promise<void>;
  api(databaseUrl: string, env?: Record<string, string>, checkout?: string): Promise<BenchApi>;
  worker(databaseUrl: string, env: Record<string, string>, checkout?: string): Promise<BenchProcess>;
  /** Builds the variables of a process that the measurement starts itself. */
  buildEnv(databaseUrl: string, env: Record<string, string>): Record<string, string>;
  /** Starts a module of the bench as a process with the service's configuration for a database. */
  child(module: string, databaseUrl: string, env?: Record<string, string>): Promise<BenchChild>;
  close(): Promise<void>;
}

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

/** Starts the servers, builds the service and migrates the database that the others are copied from. */
export async function startBenchEnvironment(
  options: BenchOptions,
  log: (line: string) => void,
): Promise<BenchEnvironment> {
  if (!options.isBuilt) await buildDist();
  const environment = await createEnvironment({
    folder: createScratchFolder('bench-', true),
    postgresSettings: POSTGRES_SETTINGS,
    redisPrefix: REDIS_PREFIX,
    env: { LOG_LEVEL: 'warn' },
  });
  const { postgres, redis, closers } = environment;
  const close = () => environment.close({ onError: (error) => log(error.message) });
  const flags = options.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${options.profile}`];
  let services = 0;
  const place = (databaseUrl: string, env: Record<string, string>, checkout?: string) => {
    services += 1;
    const prefix: Record<string, string> = checkout === undefined ? {} : { REDIS_PREFIX: OTHER_REDIS_PREFIX };
    return { databaseUrl, env: { ...env, ...prefix }, checkout, flags, logName: `service-${services}` };
  };

  /** Reports the warnings that a process has logged when it ends. */
  function watchWarnings(program: Program): BenchProcess {
    let ending: Promise<void> | undefined;
    const end = () => (ending ??= program.stop().then(() => reportWarnings(program, log)));
    closers.add(end);
    return { pid: program.pid, end };
  }

  try {
    log(environment.description);
    await environment.migrate(postgres.url);
    return {
      options,
      postgres,
      redis,
      log,
      close,
      database: async (name, checkout) => {
        const template = checkout === undefined ? 'genmeter' : 'template1';
        const url = await createDatabase(postgres.url, name, `TEMPLATE ${template}`);
        if (checkout !== undefined) await environment.migrate(url, {}, checkout);
        const client = await connectTo(url);
        closers.add(() => client.end());
        return { url, client };
      },
      release: (databaseUrl, catalog) => environment.migrate(databaseUrl, { CATALOG: catalog }),
      api: async (databaseUrl, env = {}, checkout) => {
        const api = await environment.startApi(place(databaseUrl, env, checkout));
        return { ...watchWarnings(api), port: api.port };
      },
      worker: async (databaseUrl, env, checkout) =>
        watchWarnings(environment.startWorker(place(databaseUrl, env, checkout))),
      buildEnv: (databaseUrl, env) => environment.buildEnv({ databaseUrl, env }),
      child: async (module, databaseUrl, env = {}) => {
        const variables = environment.buildEnv({ databaseUrl, env });
        const child = await startBenchChild(join(import.meta.dirname, module), variables);
        closers.add(() => child.end());
        return child;
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function reportWarnings(program: Program, reportLine: (line: string) => void): void {
  const lines = program
    .logs()
    .split('\n')
    .filter((line) => line !== '');
  if (lines.length > 0)
    reportLine(`${program.name} logged ${lines.length} warnings, the first: ${lines[0]?.slice(0, 300)}`);
}
