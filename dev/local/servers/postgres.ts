import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { withDataDirLock } from './dataDirLock.ts';
import { choosePort } from './ports.ts';
import { findPostgresBinaries, type PostgresBinaries } from './postgresBinaries.ts';
import { readClusterMajorVersion, ensureCluster, getSpawnOptions } from './postgresCluster.ts';
import { preparePostgresLocation, type PostgresLocation } from './postgresLocation.ts';
import { terminatePostgres, findPostmaster, isPostgresReady, type Postmaster } from './postmaster.ts';
import { readLogSince, getLogSize, spawnDetached, waitUntil } from './processes.ts';
import {
  runOnce,
  openServerDataDir,
  readServerRecord,
  type RunningServer,
  writeServerRecordFile,
} from './runningServer.ts';

export type { RunningServer } from './runningServer.ts';

const DATABASE_NAME = 'genmeter';
const START_TIMEOUT_MS = 120_000;
const ORPHANS_TIMEOUT_MS = 15_000;

/** Options of {@link startPostgres}. */
export interface PostgresOptions {
  /** The data folder, created if it is missing. */
  dataDir: string;
  /** Default: the last port if it is free, else any free one. */
  port?: number;
  /** More settings of the server, as in `postgresql.conf`. */
  settings?: Record<string, string>;
  log?: (line: string) => void;
}

/**
 * Starts a Postgres on a data folder, or attaches to the one that already runs there, with a database `genmeter`. It
 * listens on 127.0.0.1 only and outlives a killed parent; `stop()` ends it, even if this call only attached.
 * @throws Error with the attempts that were made and what to do.
 */
export async function startPostgres(options: PostgresOptions): Promise<RunningServer> {
  const dataDir = openServerDataDir(options.dataDir, 'DATABASE_URL');
  return withDataDirLock('postgres', dataDir, async () => {
    const log = options.log ?? ((): void => {});
    const location = await preparePostgresLocation(dataDir, log);
    let postmaster = await findPostmaster(location.cluster);
    if (postmaster !== null) log(`postgres: attached to the running server on ${location.cluster}`);
    postmaster ??= await launchPostgres(location, options, log);
    const { pid, port } = postmaster;
    const version = await ensureDatabase(port);
    return {
      name: 'postgres',
      version,
      url: `postgres://app@127.0.0.1:${port}/${DATABASE_NAME}`,
      port,
      pid,
      source: readServerRecord(location.recordFile)?.source ?? `postgres ${version}`,
      stop: runOnce(() => withDataDirLock('postgres', dataDir, () => terminatePostgres(location.cluster, pid))),
    };
  });
}

async function launchPostgres(
  location: PostgresLocation,
  options: PostgresOptions,
  log: (line: string) => void,
): Promise<Postmaster> {
  const binaries = await findPostgresBinaries(location, readClusterMajorVersion(location.cluster), log);
  const isDurable = options.settings?.fsync !== 'off';
  if (readClusterMajorVersion(location.cluster) === null)
    log(`postgres: creating a new data folder with ${binaries.source}`);
  await ensureCluster(location, binaries, isDurable);

  const orphansDeadline = performance.now() + ORPHANS_TIMEOUT_MS;
  for (let attempt = 1; ; attempt += 1) {
    const port = await choosePort(options.port, readServerRecord(location.recordFile)?.port);
    writeServerRecordFile(location.recordFile, { port, pid: null, source: binaries.source });
    const outcome = await attemptPostgresLaunch(location, binaries, port, options.settings ?? {});
    if (typeof outcome !== 'string') return outcome;
    // Children of a killed server end by themselves within moments; until then Postgres refuses to start.
    const isWaitingForOrphans = /shared memory block|is still in use/.test(outcome);
    if (isWaitingForOrphans && performance.now() < orphansDeadline) await delay(100);
    else if (attempt >= 3 || !/Address already in use|could not bind|lock file/.test(outcome)) {
      throw new Error(
        `${binaries.source} exited during startup (${extractFailureReason(outcome)}; more in ${location.logFile}).`,
      );
    }
    const other = await findPostmaster(location.cluster);
    if (other !== null) return other;
  }
}

/** Returns the server once it accepts connections, or its output if it exited. */
async function attemptPostgresLaunch(
  location: PostgresLocation,
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
  const from = getLogSize(location.logFile);
  const { pid, hasExited } = await spawnDetached(
    binaries.postgres,
    ['-D', location.cluster, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    { ...getSpawnOptions(location.account), logFile: location.logFile },
  );
  const isSettled = await waitUntil(() => isPostgresReady(location.cluster, pid) || hasExited(), START_TIMEOUT_MS);
  if (!isSettled) {
    await terminatePostgres(location.cluster, pid);
    throw new Error(`${binaries.source} accepted no connections for two minutes: see ${location.logFile}.`);
  }
  if (hasExited()) return readLogSince(location.logFile, from);
  return { pid, port, status: 'ready' };
}

function extractFailureReason(output: string): string {
  const lines = output.split('\n').filter((line) => /FATAL|PANIC|ERROR|cannot|could not/.test(line));
  return (lines.at(-1) ?? output.trim().split('\n').at(-1) ?? '').trim() || 'it logged no reason';
}

/** Creates the database if it is missing. Returns the version of the server. */
async function ensureDatabase(port: number): Promise<string> {
  const client = new Client({ host: '127.0.0.1', port, user: 'app', password: '', database: 'postgres', ssl: false });
  await client.connect();
  try {
    const { rows } = await client.query<{ version: string; has_database: boolean }>(
      `select current_setting('server_version') as version,
         exists (select from pg_database where datname = $1) as has_database`,
      [DATABASE_NAME],
    );
    if (!rows[0]!.has_database) await client.query(`create database ${DATABASE_NAME}`);
    return rows[0]!.version.split(' ')[0]!;
  } finally {
    await client.end();
  }
}
