import { listChildPids } from '../local/procfs.ts';
import { isAlive, waitUntil } from '../local/servers/processes.ts';
import type { RunningServer } from '../local/servers/runningServer.ts';

/** Postgres or Redis, with control over all of its processes. */
export interface ControlledServer {
  readonly url: string;
  pids(): number[];
  /** Suspends all of its processes until `resume`. */
  pause(): void;
  resume(): void;
  /** Simulates a power cut of its machine. Resolves when the server is back, with all data that it had committed. */
  killAndRestart(): Promise<void>;
  stop(): Promise<void>;
}

/** A killed process ends as soon as it is scheduled, which takes a while on a busy machine. */
const END_TIMEOUT_MS = 60_000;

/** @param start starts the server again on its port. */
export function controlServer(
  server: RunningServer,
  start: (port: number) => Promise<RunningServer>,
): ControlledServer {
  let running = server;
  const { port, url } = running;
  const pids = () => (running.pid === null ? [] : [running.pid, ...listChildPids(running.pid)]);
  const signal = (name: NodeJS.Signals, to = pids()) => {
    for (const pid of to) {
      try {
        process.kill(pid, name);
      } catch {
        // The process has ended in the meantime, as backends do.
      }
    }
  };
  return {
    url,
    pids,
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
    killAndRestart: async () => {
      const killed = pids();
      signal('SIGKILL', killed);
      // Until then its files say that it is ready, and the start would attach to it.
      if (!(await waitUntil(() => !killed.some(isAlive), END_TIMEOUT_MS)))
        throw new Error(`The processes ${killed.join(', ')} were killed and do not end.`);
      running = await start(port);
    },
    stop: async () => {
      signal('SIGCONT');
      await running.stop();
    },
  };
}
