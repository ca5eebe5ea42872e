import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { readProcfileFlags, ROOT } from '../local/builtProcess.ts';
import { readProcessMemory } from '../local/procfs.ts';

const PROCESS_CLOCK = new URL('../local/processClock.mjs', import.meta.url).href;
/** Delay after which a platform restarts a process that has exited. */
const RESTART_DELAY_MS = 500;

export interface ManagedProcessOptions {
  /** `api 1`, `worker 2`. */
  name: string;
  /** Main file in the build. */
  main: 'dist/api/main.js' | 'dist/worker/main.js';
  /** Folder of the build. */
  folder: string;
  env: Record<string, string>;
  logFile: string;
  /** Called if it exits although no fault ended it. */
  onUnexpectedExit: (part: ManagedProcess, status: string) => void;
}

/**
 * A process of the service, restarted as a platform does, which can be killed and paused and whose clock can be moved.
 */
export interface ManagedProcess {
  readonly name: string;
  /** Resident memory in kilobytes; null while there is no process. */
  residentKb(): number | null;
  /** Kills it, as a power cut would. It is restarted after a moment. */
  kill(): void;
  /** Suspends it until `resume`. */
  pause(): void;
  resume(): void;
  /**
   * Stops it as a platform does at a deployment; it is then restarted. @returns the duration of the shutdown in
   * milliseconds; null if it had to be killed.
   */
  restart(): Promise<number | null>;
  /** Sets how far its clock is ahead, in milliseconds. */
  setClock(offsetMs: number): void;
  /**
   * Stops it as a platform does at a deployment, without a restart. Resolves when it has ended, at the latest after 30
   * s.
   */
  stop(): Promise<void>;
}

const SHUTDOWN_TIMEOUT_MS = 30_000;

/** Starts a process, and restarts it whenever it exits. */
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
    // The process is ending, or its IPC channel is closed.
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
    residentKb: () => (child?.pid === undefined ? null : (readProcessMemory(child.pid)?.residentKb ?? null)),
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

/** @returns true if it has exited by itself within 30 s. */
async function terminateGracefully(ending: ChildProcess): Promise<boolean> {
  const exited = once(ending, 'exit');
  ending.kill('SIGCONT');
  ending.kill('SIGTERM');
  const timer = setTimeout(() => ending.kill('SIGKILL'), SHUTDOWN_TIMEOUT_MS);
  const [, signal] = await exited;
  clearTimeout(timer);
  return signal !== 'SIGKILL';
}
