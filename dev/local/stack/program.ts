import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { openProgramLog } from './programLog.ts';
import type { PidFile } from './pidFile.ts';

const STOP_TIMEOUT_MS = 28_000;
const RESTART_DELAY_MS = 1_000;
const MAX_RESTARTS = 5;
const RESTART_WINDOW_MS = 60_000;
/** Exit status of a program with an invalid configuration, which a restart would not fix. */
const EXIT_INVALID_CONFIG = 78;

const PROJECT_ROOT = new URL('../../../', import.meta.url);
const TSX = import.meta.resolve('tsx');

/** A supervised program of the service. */
export interface Program {
  name: string;
  /** Stops it gracefully and waits; after half a minute it is killed. */
  stop(): Promise<void>;
  /** Kills it at once. */
  kill(): void;
}

export interface ProgramOptions {
  name: string;
  /** Its main file, relative to the root of the project. */
  main: string;
  env: NodeJS.ProcessEnv;
  dataDir: string;
  pidFile: PidFile;
  /** Called with each line of its log. */
  onLine: (line: string) => void;
  /** Called once, after repeated exits. */
  onGiveUp: (reason: string) => void;
}

/** Starts a program as a process of its own and restarts it when it exits, up to five times a minute. */
export function startProgram(options: ProgramOptions): Program {
  const { name, onGiveUp, onLine } = options;
  const log = openProgramLog(options.dataDir, name, onLine);
  let endedAt: number[] = [];
  let isStopping = false;
  let restart: NodeJS.Timeout | undefined;
  let child = launch();

  function launch(): ChildProcess {
    const launched = spawnProgram(options);
    log.capture(launched.stdout!);
    log.capture(launched.stderr!);
    // Both `exit` and `error` may report the same end; at least one of them always occurs.
    let hasEnded = false;
    const ended = (how: string, code: number | null): void => {
      if (hasEnded || isStopping) return;
      hasEnded = true;
      onEnded(how, code);
    };
    launched.on('error', (error) => ended(error.message, null));
    launched.on('exit', (code, signal) => ended(signal === null ? `status ${code}` : signal, code));
    return launched;
  }

  function onEnded(how: string, code: number | null): void {
    const now = performance.now();
    endedAt = [...endedAt.filter((moment) => now - moment < RESTART_WINDOW_MS), now];
    const end = `The ${name} process exited (${how})`;
    const file = `logs/${name}.log in the data folder`;
    if (code === EXIT_INVALID_CONFIG) onGiveUp(`${end}: its configuration is invalid, see above.`);
    else if (endedAt.length > MAX_RESTARTS) onGiveUp(`${end}, too often within a minute: see ${file}.`);
    else {
      console.error(`${end} and is being restarted; more in ${file}.`);
      restart = setTimeout(() => (child = launch()), RESTART_DELAY_MS);
    }
  }

  async function stop(): Promise<void> {
    isStopping = true;
    clearTimeout(restart);
    if (isRunning(child)) {
      const timer = setTimeout(kill, STOP_TIMEOUT_MS);
      const exit = once(child, 'exit');
      child.kill('SIGTERM');
      await exit;
      clearTimeout(timer);
    }
    await log.close();
  }

  function kill(): void {
    if (isRunning(child)) child.kill('SIGKILL');
  }

  return { name, stop, kill };
}

/**
 * Uses a process group of its own: the terminal sends Ctrl-C to the whole foreground group, and these programs treat a
 * second signal, the launcher's, as "exit at once".
 */
function spawnProgram({ name, main, env, dataDir, pidFile }: ProgramOptions): ChildProcess {
  const [wrapper, program] = [new URL('programWrapper.ts', import.meta.url), new URL(main, PROJECT_ROOT)].map((url) =>
    fileURLToPath(url),
  );
  // The last arguments only identify the owner in a list of processes.
  const child = spawn(process.execPath, ['--import', TSX, wrapper!, program!, dataDir, name], {
    env,
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
    windowsHide: true,
  });
  child.stdin.on('error', () => {});
  if (child.pid !== undefined) pidFile.add(name, child.pid);
  return child;
}

function isRunning(child: ChildProcess): boolean {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null;
}
