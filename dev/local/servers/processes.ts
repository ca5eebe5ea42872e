import { execFileSync, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, readlinkSync, statSync, truncateSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { getErrorCode } from './errorDetails.ts';

const MAX_LOG_BYTES = 10 * 1024 * 1024;

/** Working folder and account of a server process. `uid` and `gid` have an effect for root only. */
export interface DetachedSpawnOptions {
  cwd: string;
  logFile: string;
  env: NodeJS.ProcessEnv;
  uid?: number;
  gid?: number;
}

/** Returns true if the system lists a process, even as a zombie. */
export function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return getErrorCode(error) === 'EPERM';
  }
}

/** Returns true if a process runs. Zombies count as ended: they may never be reaped if process 1 is a plain program. */
export function isAlive(pid: number): boolean {
  if (!processExists(pid)) return false;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return !/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2));
  } catch {
    return process.platform !== 'linux' || !existsSync('/proc/self/stat');
  }
}

/** Returns the command line of a process, joined by spaces; empty if it has ended or is not visible to us. */
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

/** Returns the working folder of a process on systems that report it (Linux), else null. */
export function readWorkingDirectory(pid: number): string | null {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return null;
  }
}

/** Polls `isDone`. Returns false if it is still false after `timeoutMs`. */
export async function waitUntil(
  isDone: () => boolean | Promise<boolean>,
  timeoutMs: number,
  intervalMs = 20,
): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (!(await isDone())) {
    if (performance.now() > deadline) return false;
    await delay(intervalMs);
  }
  return true;
}

/**
 * Ends a process with each signal in turn, waiting for its time limit.
 * @param isStillOurs protects a program that got the same process id since.
 * @throws Error if the process survives all signals.
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
      throw new Error(`Process ${pid} belongs to another account: stop it as that account or as root.`, {
        cause: error,
      });
    }
    if (await waitUntil(() => !isAlive(pid), waitMs)) return;
  }
  throw new Error(`Process ${pid} does not exit: kill it by hand.`);
}

/**
 * Starts a server in a process group of its own, so that Ctrl-C in the terminal does not reach it, and with its output
 * in a file, so that it outlives its parent. Returns its process id, and a function that returns true once it has
 * exited.
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

/** Returns the current size of a log, to read only later output. */
export function getLogSize(logFile: string): number {
  return existsSync(logFile) ? statSync(logFile).size : 0;
}

/** Returns the output in a log after `fromBytes`. */
export function readLogSince(logFile: string, fromBytes: number): string {
  if (!existsSync(logFile)) return '';
  const content = readFileSync(logFile);
  return content.subarray(content.length >= fromBytes ? fromBytes : 0).toString('utf8');
}
