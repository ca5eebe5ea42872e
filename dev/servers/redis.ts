import { mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from './failures.ts';
import { withLock } from './lock.ts';
import { choosePort } from './ports.ts';
import { commandLine, endProcess, isAlive, logSince, logSize, spawnDetached, waitUntil } from './processes.ts';
import { findRedis, type RedisBinary } from './redisBinaries.ts';
import { askRedis } from './redisProbe.ts';
import { once, openDataDir, readRecord, type RunningServer, type ServerRecord, writeRecord } from './runningServer.ts';

export type { RunningServer } from './runningServer.ts';

const LONGEST_START_MS = 60_000;

/** How a Redis is started: see {@link startRedis}. */
export interface RedisOptions {
  /** The folder of its data, made when it is not there. */
  dataDir: string;
  /** Default: the port it had last time if that is free, else any free one. */
  port?: number;
  /** Whether it keeps its data on disk. Default: true. */
  appendOnly?: boolean;
  log?: (line: string) => void;
}

interface Place {
  dataDir: string;
  logFile: string;
  recordFile: string;
}

interface Found {
  port: number;
  pid: number;
  version: string;
  how: string;
}

/**
 * Starts a Redis on a data folder, or attaches to the one that runs there already. It listens on 127.0.0.1 only and outlives a
 * killed parent; `stop()` ends it, also when this call only attached.
 * @throws Error that says what was tried and what to do.
 */
export async function startRedis(options: RedisOptions): Promise<RunningServer> {
  const dataDir = openDataDir(options.dataDir, 'REDIS_URL');
  const place = { dataDir, logFile: join(dataDir, 'redis.log'), recordFile: join(dataDir, 'redis.json') };
  return withLock('redis', dataDir, async () => {
    let found = await findRunning(place);
    if (found !== null) options.log?.(`redis: attached to the one that runs on ${dataDir}`);
    found ??= await launch(place, options);
    const { port, pid, version, how } = found;
    return {
      name: 'redis',
      version,
      url: `redis://127.0.0.1:${port}`,
      port,
      pid,
      how,
      stop: once(() => withLock('redis', dataDir, () => endRedis(pid, port))),
    };
  });
}

/** Finds the Redis of this place and waits until it has loaded; null when there is none, or when it was on its way out. */
async function findRunning(place: Place): Promise<Found | null> {
  const record = readRecord(place.recordFile);
  if (record === null) return null;
  let found: Found | null = null;
  const isOver = async (): Promise<boolean> => {
    found = await readyRedis(place, record);
    return found !== null || !(await mayBeComing(place, record));
  };
  if (await waitUntil(isOver, LONGEST_START_MS)) return found;
  throw new Error(`A Redis runs on ${place.dataDir} (port ${record.port}) but does not become ready: end it.`);
}

async function readyRedis(place: Place, { port, pid, how }: ServerRecord): Promise<Found | null> {
  const answer = await askRedis(port);
  if (answer === null || !answer.isReady) return null;
  if (answer.dir === place.dataDir) return { port, pid: answer.pid, version: answer.version, how };
  // The stand-in has no folder and does not know its process id: ours is the one that was recorded.
  const isStandIn = answer.dir === null && pid !== null && isRedisOf(pid, port);
  return isStandIn ? { port, pid, version: answer.version, how } : null;
}

/** Says whether a Redis of this place lives that does not answer yet (it loads), or no more (it ends). */
async function mayBeComing(place: Place, { port, pid }: ServerRecord): Promise<boolean> {
  if (pid !== null) return isAlive(pid) && isRedisOf(pid, port);
  return (await askRedis(port))?.dir === place.dataDir;
}

async function launch(place: Place, options: RedisOptions): Promise<Found> {
  const binary = await findRedis(place.dataDir, options.log ?? ((): void => {}));
  let hasSetAside = false;
  for (let attempt = 1; ; attempt += 1) {
    const port = await choosePort(options.port, readRecord(place.recordFile)?.port);
    const outcome = await attemptLaunch(place, binary, port, options.appendOnly ?? true);
    if (typeof outcome !== 'string') return outcome;
    if (!hasSetAside && isUnreadableData(outcome)) {
      hasSetAside = true;
      setDataAside(place.dataDir, options.log);
    } else if (attempt >= 3 || !/Address already in use|EADDRINUSE|bind/.test(outcome)) {
      const last = outcome.trim().split('\n').at(-1) || 'it wrote no reason';
      throw new Error(`${binary.how} ended at its start (${last}; more in ${place.logFile}): or set REDIS_URL.`);
    }
    const other = await findRunning(place);
    if (other !== null) return other;
  }
}

/** Returns the server once it takes commands, or, when it ended instead, what it wrote. */
async function attemptLaunch(
  place: Place,
  binary: RedisBinary,
  port: number,
  appendOnly: boolean,
): Promise<Found | string> {
  const record = { port, pid: null, how: binary.how };
  // Before the spawn: killed right after it, we leave behind where the server is to be found.
  writeRecord(place.recordFile, record);
  const from = logSize(place.logFile);
  const [file, args] = binary.keepsData
    ? [binary.file, serverOptions(place.dataDir, port, appendOnly)]
    : [process.execPath, [binary.file, String(port)]];
  const { pid, hasExited } = await spawnDetached(file, args, {
    cwd: place.dataDir,
    // A language that is not installed would end it.
    env: { ...process.env, ...binary.env, LC_ALL: 'C' },
    logFile: place.logFile,
  });
  writeRecord(place.recordFile, { ...record, pid });
  let found: Found | null = null;
  const isSettled = await waitUntil(async () => {
    found = await readyRedis(place, { ...record, pid });
    return found?.pid === pid || hasExited();
  }, LONGEST_START_MS);
  if (!isSettled) {
    await endRedis(pid, port);
    throw new Error(`${binary.how} took no commands for a minute: see ${place.logFile}, or set REDIS_URL.`);
  }
  return hasExited() ? logSince(place.logFile, from) : found!;
}

function serverOptions(dataDir: string, port: number, appendOnly: boolean): string[] {
  const settings = [
    ['--bind', '127.0.0.1'],
    ['--port', String(port)],
    ['--dir', dataDir],
    ['--appendonly', appendOnly ? 'yes' : 'no'],
    // A kill in the middle of a write leaves half a command at the end: drop that, keep the rest.
    ['--aof-load-truncated', 'yes'],
    ['--save', ''],
    ['--maxmemory-policy', 'noeviction'],
  ];
  return settings.flat();
}

/** A newer Redis, or a disk that failed, may leave files this one cannot read. */
function isUnreadableData(output: string): boolean {
  return /Can't handle RDB format|Bad file format|Unrecoverable error reading the append only file|AOF.*(corrupt|fail)/i.test(
    output,
  );
}

/** All in Redis can be made again from Postgres, so that a start without the file is better than none; it is kept. */
function setDataAside(dataDir: string, log?: (line: string) => void): void {
  const aside = join(dataDir, `unreadable-${Date.now()}`);
  mkdirSync(aside);
  for (const name of ['appendonlydir', 'appendonly.aof', 'dump.rdb']) {
    try {
      renameSync(join(dataDir, name), join(aside, name));
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error;
    }
  }
  log?.(`redis: its files cannot be read; they are kept in ${aside}, and it starts empty`);
}

function isRedisOf(pid: number, port: number): boolean {
  if (process.platform === 'win32') return true;
  const command = commandLine(pid);
  return /redis|valkey/i.test(command) && command.includes(String(port));
}

async function endRedis(pid: number, port: number): Promise<void> {
  await endProcess(pid, () => isRedisOf(pid, port), [
    ['SIGTERM', 15_000],
    ['SIGKILL', 5_000],
  ]);
}
