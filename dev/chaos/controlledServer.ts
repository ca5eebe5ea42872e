import { listChildPids } from '../local/procfs.ts';
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

/** @param start starts the server again on its port. */
export function controlServer(
  server: RunningServer,
  start: (port: number) => Promise<RunningServer>,
): ControlledServer {
  let running = server;
  const { port, url } = running;
  const pids = () => (running.pid === null ? [] : [running.pid, ...listChildPids(running.pid)]);
  const signal = (name: NodeJS.Signals) => {
    for (const pid of pids()) {
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
      signal('SIGKILL');
      running = await start(port);
    },
    stop: async () => {
      signal('SIGCONT');
      await running.stop();
    },
  };
}
