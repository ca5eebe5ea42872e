import { mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { getErrorCode } from './errorDetails.ts';
import { withDataDirLock } from './dataDirLock.ts';
import { choosePort } from './ports.ts';
import {
  readProcessCommandLine,
  terminateProcess,
  isAlive,
  readLogSince,
  getLogSize,
  spawnDetached,
  waitUntil,
} from './processes.ts';
import { findRedis, type RedisBinary } from './redisBinaries.ts';
import { probeRedis } from './redisProbe.ts';
import {
  runOnce,
  openServerDataDir,
  readServerRecord,
  type RunningServer,
  type ServerRecord,
  writeServerRecordFile,
} from './runningServer.ts';

export type { RunningServer } from './runningServer.ts';

const START_TIMEOUT_MS = 60_000;

/** Options of {@link startRedis}. */
export interface RedisOptions {
  /** The data folder, created if it is missing. */
  dataDir: string;
  /** Default: the last port if it is free, else any free one. */
  port?: number;
  /** Persists data to disk. Default: true. */
  appendOnly?: boolean;
  log?: (line: string) => void;
}

interface RedisPaths {
  dataDir: string;
  logFile: string;
  recordFile: string;
}

interface FoundRedis {
  port: number;
  pid: number;
  version: string;
  source: string;
}

/**
 * Starts a Redis on a data folder, or attaches to the one that already runs there. It listens on 127.0.0.1 only and
 * outlives a killed parent; `stop()` ends it, even if this call only attached.
 * @throws Error with the attempts that were made and what to do.
 */
export async function startRedis(options: RedisOptions): Promise<RunningServer> {
  const dataDir = openServerDataDir(options.dataDir, 'REDIS_URL');
  const paths = { dataDir, logFile: join(dataDir, 'redis.log'), recordFile: join(dataDir, 'redis.json') };
  return withDataDirLock('redis', dataDir, async () => {
    let found = await findRunningRedis(paths);
    if (found !== null) options.log?.(`redis: attached to the running server on ${dataDir}`);
    found ??= await launchRedis(paths, options);
    const { port, pid, version, source } = found;
    return {
      name: 'redis',
      version,
      url: `redis://127.0.0.1:${port}`,
      port,
      pid,
      source,
      stop: runOnce(() => withDataDirLock('redis', dataDir, () => terminateRedis(pid, port))),
    };
  });
}

/** Finds the Redis of this folder and waits until it has loaded; null if there is none, or if it was shutting down. */
async function findRunningRedis(paths: RedisPaths): Promise<FoundRedis | null> {
  const record = readServerRecord(paths.recordFile);
  if (record === null) return null;
  let found: FoundRedis | null = null;
  const isOver = async (): Promise<boolean> => {
    found = await findReadyRedis(paths, record);
    return found !== null || !(await isStartingOrStopping(paths, record));
  };
  if (await waitUntil(isOver, START_TIMEOUT_MS)) return found;
  throw new Error(`A Redis runs on ${paths.dataDir} (port ${record.port}) but does not become ready: stop it.`);
}

async function findReadyRedis(paths: RedisPaths, { port, pid, source }: ServerRecord): Promise<FoundRedis | null> {
  const answer = await probeRedis(port);
  if (answer === null || !answer.isReady) return null;
  if (answer.dir === paths.dataDir) return { port, pid: answer.pid, version: answer.version, source };
  // The JavaScript fallback reports neither folder nor process id: ours is the recorded one.
  const isFallback = answer.dir === null && pid !== null && isRedisProcess(pid, port);
  return isFallback ? { port, pid, version: answer.version, source } : null;
}

/** Returns true if a Redis of this folder does not respond because it is loading or shutting down. */
async function isStartingOrStopping(paths: RedisPaths, { port, pid }: ServerRecord): Promise<boolean> {
  if (pid !== null) return isAlive(pid) && isRedisProcess(pid, port);
  return (await probeRedis(port))?.dir === paths.dataDir;
}

async function launchRedis(paths: RedisPaths, options: RedisOptions): Promise<FoundRedis> {
  const binary = await findRedis(paths.dataDir, options.log ?? ((): void => {}));
  let hasQuarantined = false;
  for (let attempt = 1; ; attempt += 1) {
    const port = await choosePort(options.port, readServerRecord(paths.recordFile)?.port);
    const outcome = await attemptRedisLaunch(paths, binary, port, options.appendOnly ?? true);
    if (typeof outcome !== 'string') return outcome;
    if (!hasQuarantined && isUnreadableData(outcome)) {
      hasQuarantined = true;
      quarantineData(paths.dataDir, options.log);
    } else if (attempt >= 3 || !/Address already in use|EADDRINUSE|bind/.test(outcome)) {
      const last = outcome.trim().split('\n').at(-1) || 'it logged no reason';
      throw new Error(
        `${binary.source} exited during startup (${last}; more in ${paths.logFile}). Fix this, or set REDIS_URL.`,
      );
    }
    const other = await findRunningRedis(paths);
    if (other !== null) return other;
  }
}

/** Returns the server once it accepts commands, or its output if it exited. */
async function attemptRedisLaunch(
  paths: RedisPaths,
  binary: RedisBinary,
  port: number,
  appendOnly: boolean,
): Promise<FoundRedis | string> {
  const record = { port, pid: null, source: binary.source };
  // Before the spawn, so that the server can be found even if this process is killed right after it.
  writeServerRecordFile(paths.recordFile, record);
  const from = getLogSize(paths.logFile);
  const [file, args] = binary.keepsData
    ? [binary.file, buildServerArguments(paths.dataDir, port, appendOnly)]
    : [process.execPath, [binary.file, String(port)]];
  const { pid, hasExited } = await spawnDetached(file, args, {
    cwd: paths.dataDir,
    // Redis exits if the locale is not installed.
    env: { ...process.env, ...binary.env, LC_ALL: 'C' },
    logFile: paths.logFile,
  });
  writeServerRecordFile(paths.recordFile, { ...record, pid });
  let found: FoundRedis | null = null;
  const isSettled = await waitUntil(async () => {
    found = await findReadyRedis(paths, { ...record, pid });
    return found?.pid === pid || hasExited();
  }, START_TIMEOUT_MS);
  if (!isSettled) {
    await terminateRedis(pid, port);
    throw new Error(`${binary.source} accepted no commands for a minute: see ${paths.logFile}, or set REDIS_URL.`);
  }
  return hasExited() ? readLogSince(paths.logFile, from) : found!;
}

function buildServerArguments(dataDir: string, port: number, appendOnly: boolean): string[] {
  const settings = [
    ['--bind', '127.0.0.1'],
    ['--port', String(port)],
    ['--dir', dataDir],
    ['--appendonly', appendOnly ? 'yes' : 'no'],
    // A kill during a write leaves half a command at the end: drop that, and keep the rest.
    ['--aof-load-truncated', 'yes'],
    ['--save', ''],
    ['--maxmemory-policy', 'noeviction'],
  ];
  return settings.flat();
}

/** Files of a newer Redis, or from a failed disk, may not be readable. */
function isUnreadableData(output: string): boolean {
  return /Can't handle RDB format|Bad file format|Unrecoverable error reading the append only file|AOF.*(corrupt|fail)/i.test(
    output,
  );
}

/**
 * Moves the file aside: everything in Redis can be rebuilt from Postgres, so that a start without it is better than
 * none.
 */
function quarantineData(dataDir: string, log?: (line: string) => void): void {
  const aside = join(dataDir, `unreadable-${Date.now()}`);
  mkdirSync(aside);
  for (const name of ['appendonlydir', 'appendonly.aof', 'dump.rdb']) {
    try {
      renameSync(join(dataDir, name), join(aside, name));
    } catch (error) {
      if (getErrorCode(error) !== 'ENOENT') throw error;
    }
  }
  log?.(`redis: its files are unreadable; they are kept in ${aside}, and it starts empty`);
}

function isRedisProcess(pid: number, port: number): boolean {
  if (process.platform === 'win32') return true;
  const command = readProcessCommandLine(pid);
  return /redis|valkey/i.test(command) && command.includes(String(port));
}

async function terminateRedis(pid: number, port: number): Promise<void> {
  await terminateProcess(pid, () => isRedisProcess(pid, port), [
    ['SIGTERM', 15_000],
    ['SIGKILL', 5_000],
  ]);
}
