import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { findFreePort } from '../servers/ports.ts';
import { waitUntil } from '../servers/processes.ts';
import type { RunningServer } from '../servers/runningServer.ts';
import { buildServiceArgs, ROOT } from './build.ts';
import { Closers } from './closers.ts';
import { type Program, runProgram, startProgram } from './program.ts';
import { type Servers, type ServersOptions, startServers } from './servers.ts';
import { buildServiceEnv } from './serviceEnv.ts';

export interface EnvironmentOptions extends ServersOptions {
  /** Folder of the build of the service. Default: that of the project. */
  build?: string;
  redisPrefix: string;
  /** Variables of all programs, besides the addresses of their servers. */
  env?: Record<string, string>;
}

export interface ServiceOptions {
  databaseUrl: string;
  /** Another checkout of the project, with a build. Default: the build of the environment. */
  checkout?: string;
  /** Default: the address of the environment's Redis. */
  redisUrl?: string;
  env?: Record<string, string>;
  /** Further flags of node. */
  flags?: string[];
  /** Initial offset of a movable clock. */
  clockOffsetMs?: number;
  /** Name of the log file. */
  logName?: string;
}

export type RunningApi = Program & { port: number };

const HEALTHY_TIMEOUT_MS = 30_000;
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** Servers of its own, and programs of a build of the service that use them. A signal closes it. */
export class Environment {
  readonly folder: string;
  readonly postgres: RunningServer;
  readonly redis: RunningServer;
  /** Closers of everything that was started, in order. */
  readonly closers = new Closers();
  readonly #options: EnvironmentOptions;
  readonly #build: string;
  readonly #onSignal = (signal: string): void => {
    process.stderr.write(`Stopped by ${signal}; cleaning up.\n`);
    void this.close().then(() => process.exit(1));
  };

  constructor(options: EnvironmentOptions, servers: Servers) {
    this.folder = options.folder;
    this.postgres = servers.postgres;
    this.redis = servers.redis;
    this.#options = options;
    this.#build = options.build ?? ROOT;
    this.closers.add(() => servers.stop());
    mkdirSync(join(this.folder, 'logs'));
    for (const signal of SIGNALS) process.once(signal, this.#onSignal);
  }

  /** Describes the servers and their versions. */
  get description(): string {
    return `${this.postgres.source}, ${this.redis.source}, node ${process.version}`;
  }

  /** Builds the variables of a program. They do not depend on those of the caller. */
  buildEnv({ databaseUrl, redisUrl = this.redis.url, env }: ServiceOptions): Record<string, string> {
    const { folder, redisPrefix, env: common } = this.#options;
    const mediaDir = join(folder, 'media');
    return { ...buildServiceEnv({ databaseUrl, redisUrl, redisPrefix, mediaDir }), ...common, ...env };
  }

  /**
   * Runs the release step against a database.
   * @param env variables beside the usual ones, such as CATALOG.
   * @param checkout another checkout of the project, with a build.
   */
  async migrate(databaseUrl: string, env: Record<string, string> = {}, checkout = this.#build): Promise<void> {
    const args = [join(checkout, 'dist/migrations/main.js')];
    const { status, out, err } = await runProgram({ args, env: this.buildEnv({ databaseUrl, env }) });
    if (status !== 0) throw new Error(`The release step exited with ${status}:\n${out}${err}`);
  }

  /** Runs a command of `npm run admin` from the build. @returns whether it succeeded. */
  async runAdmin(databaseUrl: string, command: string[], clockOffsetMs: number): Promise<boolean> {
    const args = [join(this.#build, 'dist/worker/cli/admin/main.js'), ...command];
    const { status } = await runProgram({ args, env: this.buildEnv({ databaseUrl }), clockOffsetMs });
    return status === 0;
  }

  /** Starts an API or a worker as it is deployed, with its log in `logs`. The caller stops it. */
  launch(name: 'api' | 'worker', options: ServiceOptions): Program {
    const { flags = [], clockOffsetMs, logName = name, checkout } = options;
    return startProgram({
      name: logName,
      args: [...flags, ...buildServiceArgs(checkout ?? this.#build, name, checkout)],
      env: this.buildEnv(options),
      cwd: ROOT,
      output: { file: join(this.folder, 'logs', `${logName}.log`) },
      clockOffsetMs,
    });
  }

  /** Starts a worker, which is stopped with the environment at the latest. */
  startWorker(options: ServiceOptions): Program {
    const worker = this.launch('worker', options);
    this.closers.add(() => worker.stop());
    return worker;
  }

  /** Starts an API, which is stopped with the environment at the latest, and waits until it is healthy. */
  async startApi(options: ServiceOptions): Promise<RunningApi> {
    const port = await findFreePort();
    const env = { PORT: String(port), HOST: '127.0.0.1', ...options.env };
    const api = this.launch('api', { ...options, env });
    this.closers.add(() => api.stop());
    const isHealthy = () =>
      fetch(`http://127.0.0.1:${port}/api/health/`).then(
        ({ status }) => status === 200,
        () => false,
      );
    await waitUntil(async () => !api.isRunning || (await isHealthy()), HEALTHY_TIMEOUT_MS);
    if (!(await isHealthy())) throw new Error(`The API did not become healthy:\n${api.logs()}`);
    return Object.assign(api, { port });
  }

  /** Stops everything and deletes the folder, except for the logs if they are kept. */
  async close({ keepsLogs = false, onError }: { keepsLogs?: boolean; onError?: (error: Error) => void } = {}) {
    for (const signal of SIGNALS) process.off(signal, this.#onSignal);
    await this.closers.close(onError);
    const paths = keepsLogs ? readdirSync(this.folder).filter((name) => name !== 'logs') : [''];
    for (const path of paths) rmSync(join(this.folder, path), { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Starts the servers of an environment. */
export async function createEnvironment(options: EnvironmentOptions): Promise<Environment> {
  try {
    return new Environment(options, await startServers(options));
  } catch (error) {
    rmSync(options.folder, { recursive: true, force: true });
    throw error;
  }
}
