import { join, relative } from 'node:path';
import { buildSourceArgs, type Program, startProgram } from '../environment/program.ts';
import { ROOT } from '../environment/build.ts';
import { SupervisedProgram } from '../environment/supervisedProgram.ts';
import { openProgramLog } from './programLog.ts';
import type { PidFile } from './pidFile.ts';

const STOP_TIMEOUT_MS = 28_000;
const RESTART_DELAY_MS = 1_000;
const MAX_RESTARTS = 5;
const RESTART_WINDOW_MS = 60_000;
/** Exit status of a program with an invalid configuration, which a restart would not fix. */
const EXIT_INVALID_CONFIG = 78;

/** A supervised program of the service. */
export interface StackProgram {
  name: string;
  /** Stops it gracefully and waits; after half a minute it is killed. */
  stop(): Promise<void>;
  /** Kills it at once. */
  kill(): void;
}

export interface StackProgramOptions {
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
export function superviseProgram(options: StackProgramOptions): StackProgram {
  const { name, main, env, dataDir, pidFile, onGiveUp, onLine } = options;
  const log = openProgramLog(dataDir, name, onLine);
  let endedAt: number[] = [];

  const supervised = new SupervisedProgram({
    restartDelayMs: RESTART_DELAY_MS,
    start: () => {
      // The last arguments only identify the owner in a list of processes.
      const program = startWrappedProgram(join(ROOT, main), [dataDir, name], env);
      log.capture(program);
      if (program.isRunning) pidFile.add(name, program.pid);
      return program;
    },
    onEnd: ({ status, signal, error }) => {
      const now = performance.now();
      endedAt = [...endedAt.filter((moment) => now - moment < RESTART_WINDOW_MS), now];
      const end = `The ${name} process exited (${error?.message ?? signal ?? `status ${status}`})`;
      const file = `logs/${name}.log in the data folder`;
      if (status === EXIT_INVALID_CONFIG) onGiveUp(`${end}: its configuration is invalid, see above.`);
      else if (endedAt.length > MAX_RESTARTS) onGiveUp(`${end}, too often within a minute: see ${file}.`);
      else {
        console.error(`${end} and is being restarted; more in ${file}.`);
        return true;
      }
      return false;
    },
  });
  return {
    name,
    kill: () => supervised.current.signal('SIGKILL'),
    stop: async () => {
      await supervised.stop(STOP_TIMEOUT_MS);
      await log.close();
    },
  };
}

/**
 * Starts a program from the sources that ends when this process does. Its process group is its own: the terminal sends
 * Ctrl-C to the whole foreground group, and these programs treat a second signal, the launcher's, as "exit at once".
 */
export function startWrappedProgram(main: string, args: readonly string[], env: NodeJS.ProcessEnv): Program {
  const wrapper = join(import.meta.dirname, 'programWrapper.ts');
  const name = relative(ROOT, main);
  return startProgram({ name, args: buildSourceArgs(wrapper, main, ...args), env, output: 'pipe', isDetached: true });
}
