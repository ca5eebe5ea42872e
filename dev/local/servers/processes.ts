import { execFileSync, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, readlinkSync, statSync, truncateSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { getErrorCode } from './errorDetails.ts';

const MAX_LOG_BYTES = 10 * 1024 * 1024;

/** Where and as whom a server process runs. `uid` and `gid` only mean something to root. */
export interface DetachedSpawnOptions {
  cwd: string;
  logFile: string;
  env: NodeJS.ProcessEnv;
  uid?: number;
  gid?: number;
}

/** Says whether the system still lists a process, be it only as a zombie. */
export function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return getErrorCode(error) === 'EPERM';
  }
}

/** Says whether a process runs. A zombie does not: nobody may ever reap it where process 1 is a plain program. */
export function isAlive(pid: number): boolean {
  if (!processExists(pid)) return false;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
  } catch {
    return process.platform !== 'linux' || !existsSync('/proc/self/stat');
  }
}

/** Returns the command line of a process, its words parted by spaces; empty when it is gone or hidden from us. */
export function readProcessCommandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    if (process.platform === 'linux' || process.platform === 'win32') return '';
  }
  try {
    return execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' });
  } catch {
    return '';
  }
}

/** Returns the working folder of a process where the system tells it (Linux), else null. */
export function readWorkingDirectory(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return null;
  }
}

/** Asks `isDone` every 20 ms. Returns false when it did not come true within `timeoutMs`. */
export async function waitUntil(isDone: () => boolean | Promise<boolean>, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (!(await isDone())) {
    if (performance.now() > deadline) return false;
    await delay(20);
  }
  return true;
}

/**
 * Ends a process: each signal in turn, with the time it is given to act.
 * @param isStillOurs guards against a process id that has passed to another program since.
 * @throws Error when the process outlives all of them.
 */
export async function terminateProcess(
  pid: number,
  isStillOurs: () => boolean,
  steps: readonly (readonly [NodeJS.Signals, number])[],
): Promise<void> {
  for (const [signal, waitMs] of steps) {
    if (!isAlive(pid) || !isStillOurs()) return;
    try {
      process.kill(pid, signal);
    } catch (error) {
      if (getErrorCode(error) === 'ESRCH') return;
      throw new Error(`Process ${pid} belongs to another account: end it as that account or as root.`, {
        cause: error,
      });
    }
    if (await waitUntil(() => !isAlive(pid), waitMs)) return;
  }
  throw new Error(`Process ${pid} does not end: end it by hand.`);
}

/**
 * Starts a server in a process group of its own, so that a ctrl-C in the terminal leaves it to whoever started it,
 * and with a file for its output, so that it outlives us without writing to a closed pipe.
 * Returns its process id, and a function that says whether it has ended.
 */
export async function spawnDetached(
  file: string,
  args: readonly string[],
  options: DetachedSpawnOptions,
): Promise<{ pid: number; hasExited: () => boolean }> {
  if (existsSync(options.logFile) && statSync(options.logFile).size > MAX_LOG_BYTES) truncateSync(options.logFile);
  const output = openSync(options.logFile, 'a');
  try {
    const { cwd, env, uid, gid } = options;
    const child = spawn(file, args, { cwd, env, uid, gid, detached: true, stdio: ['ignore', output, output] });
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
    child.unref();
    return { pid: child.pid!, hasExited: () => child.exitCode !== null || child.signalCode !== null };
  } finally {
    closeSync(output);
  }
}

/** Returns the size of a log now, to read later only what came after. */
export function getLogSize(logFile: string): number {
  return existsSync(logFile) ? statSync(logFile).size : 0;
}

/** Returns what a log has gained since it had `fromBytes`. */
export function readLogSince(logFile: string, fromBytes: number): string {
  if (!existsSync(logFile)) return '';
  const content = readFileSync(logFile);
  return content.subarray(content.length >= fromBytes ? fromBytes : 0).toString('utf8');
}
