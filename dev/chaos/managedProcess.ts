import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { readProcfileFlags, ROOT } from '../local/builtProcess.ts';

const PROCESS_CLOCK = new URL('../local/processClock.mjs', import.meta.url).href;
/** How soon a platform starts a process again that has ended. */
const RESTART_DELAY_MS = 500;

export interface ManagedProcessOptions {
  /** `api 1`, `worker 2`. */
  name: string;
  /** Of the build. */
  main: 'dist/api/main.js' | 'dist/worker/main.js';
  /** Where the build is. */
  folder: string;
  env: Record<string, string>;
  logFile: string;
  /** Called when it has ended though nobody ended it. */
  onUnexpectedExit: (part: ManagedProcess, status: string) => void;
}

/** A process of the service, kept alive as a platform does, which can be killed, stopped, and told another time. */
export interface ManagedProcess {
  readonly name: string;
  /** In kilobytes; null while there is no process. */
  residentKb(): number | null;
  /** As a power cut. It is started again after a moment. */
  kill(): void;
  /** Stands still until `resume`. */
  pause(): void;
  resume(): void;
  /** As a platform does at a deployment, and started again. @returns how long it took to end, in milliseconds; null where it did not. */
  restart(): Promise<number | null>;
  /** How far its clock is ahead, in milliseconds. */
  setClock(offsetMs: number): void;
  /** As a platform does at a deployment; it is not started again. Resolves when it has ended, at the latest after 30 s. */
  stop(): Promise<void>;
}

const SHUTDOWN_TIMEOUT_MS = 30_000;

/** Starts a process, and again whenever it has ended. */
export function startManagedProcess(options: ManagedProcessOptions): ManagedProcess {
  let child: ChildProcess | undefined;
  let offsetMs = 0;
  let isEnding = false;
  let isKilled = false;
  let restart: NodeJS.Timeout | undefined;

  function start(): void {
    if (isEnding) return;
    isKilled = false;
    const log = openSync(options.logFile, 'a');
    const args = [...readProcfileFlags(options.main), '--import', PROCESS_CLOCK, `${options.folder}/${options.main}`];
    const started = spawn(process.execPath, args, {
      cwd: ROOT,
      env: { ...options.env, PROCESS_CLOCK_OFFSET_MS: String(offsetMs) },
      stdio: ['ignore', log, log, 'ipc'],
    });
    closeSync(log);
    // Of a process that is just ending, and of one that cannot be told any more.
    started.on('error', () => {});
    started.once('exit', (status, signal) => {
      if (child === started) child = undefined;
      if (isEnding) return;
      if (!isKilled) options.onUnexpectedExit(managedProcess, signal ?? String(status));
      restart = setTimeout(start, RESTART_DELAY_MS);
    });
    child = started;
  }

  const managedProcess: ManagedProcess = {
    name: options.name,
    residentKb: () => (child?.pid === undefined ? null : readResidentKb(child.pid)),
    kill: () => {
      isKilled = true;
      child?.kill('SIGKILL');
    },
    pause: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
    restart: async () => {
      const ending = child;
      if (ending === undefined) return null;
      isKilled = true;
      const startedAt = performance.now();
      return (await terminateGracefully(ending)) ? performance.now() - startedAt : null;
    },
    setClock: (ms) => {
      offsetMs = ms;
      if (child?.connected === true) child.send(ms);
    },
    stop: async () => {
      isEnding = true;
      clearTimeout(restart);
      const ending = child;
      if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return;
      await terminateGracefully(ending);
    },
  };
  start();
  return managedProcess;
}

/** @returns whether it has ended by itself within 30 s. */
async function terminateGracefully(ending: ChildProcess): Promise<boolean> {
  const exited = once(ending, 'exit');
  ending.kill('SIGCONT');
  ending.kill('SIGTERM');
  const timer = setTimeout(() => ending.kill('SIGKILL'), SHUTDOWN_TIMEOUT_MS);
  const [, signal] = await exited;
  clearTimeout(timer);
  return signal !== 'SIGKILL';
}

/** What of a process is in memory; null where the system does not say. */
export function readResidentKb(pid: number): number | null {
  try {
    const line = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return line === undefined ? null : Number(line);
  } catch {
    return null;
  }
}
