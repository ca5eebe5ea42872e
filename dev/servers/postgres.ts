import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { withLock } from './lock.ts';
import { choosePort } from './ports.ts';
import { findPostgres, type PostgresBinaries } from './postgresBinaries.ts';
import { clusterMajor, ensureCluster, placeOf } from './postgresCluster.ts';
import { preparePostgresHome, type PostgresHome } from './postgresHome.ts';
import { endPostgres, findPostmaster, isReady, type Postmaster } from './postmaster.ts';
import { logSince, logSize, spawnDetached, waitUntil } from './processes.ts';
import { once, openDataDir, readRecord, type RunningServer, writeRecord } from './runningServer.ts';

export type { RunningServer } from './runningServer.ts';

const DATABASE = 'genmeter';
const LONGEST_START_MS = 120_000;
const LONGEST_ORPHANS_MS = 15_000;

/** How a Postgres is started: see {@link startPostgres}. */
export interface PostgresOptions {
  /** The folder of its data, made when it is not there. */
  dataDir: string;
  /** Default: the port it had last time if that is free, else any free one. */
  port?: number;
  /** More settings of the server, as in `postgresql.conf`. */
  settings?: Record<string, string>;
  log?: (line: string) => void;
}

/**
 * Starts a Postgres on a data folder, or attaches to the one that runs there already, with a database `genmeter`.
 * It listens on 127.0.0.1 only and outlives a killed parent; `stop()` ends it, also when this call only attached.
 * @throws Error that says what was tried and what to do.
 */
export async function startPostgres(options: PostgresOptions): Promise<RunningServer> {
  const dataDir = openDataDir(options.dataDir, 'DATABASE_URL');
  return withLock('postgres', dataDir, async () => {
    const log = options.log ?? ((): void => {});
    const home = await preparePostgresHome(dataDir, log);
    let postmaster = await findPostmaster(home.cluster);
    if (postmaster !== null) log(`postgres: attached to the one that runs on ${home.cluster}`);
    postmaster ??= await launch(home, options, log);
    const { pid, port } = postmaster;
    const version = await prepareDatabase(port);
    return {
      name: 'postgres',
      version,
      url: `postgres://app@127.0.0.1:${port}/${DATABASE}`,
      port,
      pid,
      how: readRecord(home.recordFile)?.how ?? `postgres ${version}`,
      stop: once(() => withLock('postgres', dataDir, () => endPostgres(home.cluster, pid))),
    };
  });
}

async function launch(home: PostgresHome, options: PostgresOptions, log: (line: string) => void): Promise<Postmaster> {
  const binaries = await findPostgres(home, clusterMajor(home.cluster), log);
  const isDurable = options.settings?.fsync !== 'off';
  if (clusterMajor(home.cluster) === null) log(`postgres: making a new data folder with ${binaries.how}`);
  await ensureCluster(home, binaries, isDurable);

  const orphansDeadline = performance.now() + LONGEST_ORPHANS_MS;
  for (let attempt = 1; ; attempt += 1) {
    const port = await choosePort(options.port, readRecord(home.recordFile)?.port);
    writeRecord(home.recordFile, { port, pid: null, how: binaries.how });
    const outcome = await attemptLaunch(home, binaries, port, options.settings ?? {});
    if (typeof outcome !== 'string') return outcome;
    // Children of a killed server end by themselves within moments; a start before that is refused.
    const isWaitingForOrphans = /shared memory block|is still in use/.test(outcome);
    if (isWaitingForOrphans && performance.now() < orphansDeadline) await delay(100);
    else if (attempt >= 3 || !/Address already in use|could not bind|lock file/.test(outcome)) {
      throw new Error(`${binaries.how} ended at its start (${reason(outcome)}; more in ${home.logFile}).`);
    }
    const other = await findPostmaster(home.cluster);
    if (other !== null) return other;
  }
}

/** Returns the server once it takes connections, or, when it ended instead, what it wrote. */
async function attemptLaunch(
  home: PostgresHome,
  binaries: PostgresBinaries,
  port: number,
  settings: Record<string, string>,
): Promise<Postmaster | string> {
  const all: Record<string, string> = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    max_connections: '200',
    shared_buffers: '64MB',
    timezone: 'UTC',
    log_timezone: 'UTC',
    ...(binaries.major >= 18 ? { io_method: 'sync' } : {}),
    ...settings,
  };
  const from = logSize(home.logFile);
  const { pid, hasExited } = await spawnDetached(
    binaries.postgres,
    ['-D', home.cluster, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    { ...placeOf(home.account), logFile: home.logFile },
  );
  const isSettled = await waitUntil(() => isReady(home.cluster, pid) || hasExited(), LONGEST_START_MS);
  if (!isSettled) {
    await endPostgres(home.cluster, pid);
    throw new Error(`${binaries.how} took no connections for two minutes: see ${home.logFile}.`);
  }
  if (hasExited()) return logSince(home.logFile, from);
  return { pid, port, status: 'ready' };
}

function reason(output: string): string {
  const lines = output.split('\n').filter((line) => /FATAL|PANIC|ERROR|cannot|could not/.test(line));
  return (lines.at(-1) ?? output.trim().split('\n').at(-1) ?? '').trim() || 'it wrote no reason';
}

/** Makes the database if it is not there. Returns the version of the server. */
async function prepareDatabase(port: number): Promise<string> {
  const client = new Client({ host: '127.0.0.1', port, user: 'app', password: '', database: 'postgres', ssl: false });
  await client.connect();
  try {
    const { rows } = await client.query<{ version: string; has_database: boolean }>(
      `select current_setting('server_version') as version,
         exists (select from pg_database where datname = $1) as has_database`,
      [DATABASE],
    );
    if (!rows[0]!.has_database) await client.query(`create database ${DATABASE}`);
    return rows[0]!.version.split(' ')[0]!;
  } finally {
    await client.end();
  }
}
