import { listChildPids } from '../local/procfs.ts';
import { startPostgres } from '../local/servers/postgres.ts';
import { startRedis } from '../local/servers/redis.ts';
import type { RunningServer } from '../local/servers/runningServer.ts';

/** Postgres or Redis, with control over all of its processes. */
export interface ControlledServer {
  readonly url: string;
  readonly source: string;
  pids(): number[];
  /** Suspends all of its processes until `resume`. */
  pause(): void;
  resume(): void;
  /** Simulates a power cut of its machine. Resolves when the server is back, with all data that it had committed. */
  killAndRestart(): Promise<void>;
  stop(): Promise<void>;
}

/** Data must survive the death of a process, but not a power cut of this machine. */
const POSTGRES_SETTINGS = { fsync: 'off', full_page_writes: 'off', max_connections: '120', checkpoint_timeout: '30s' };

export const startControlledPostgres = (dataDir: string): Promise<ControlledServer> =>
  controlServer((port) => startPostgres({ dataDir, settings: POSTGRES_SETTINGS, ...port }));

export const startControlledRedis = (dataDir: string): Promise<ControlledServer> =>
  controlServer((port) => startRedis({ dataDir, ...port }));

async function controlServer(start: (place: { port?: number }) => Promise<RunningServer>): Promise<ControlledServer> {
  let running = await start({});
  const { port, url, source: how } = running;
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
    source: how,
    pids,
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
    killAndRestart: async () => {
      signal('SIGKILL');
      running = await start({ port });
    },
    stop: async () => {
      signal('SIGCONT');
      await running.stop();
    },
  };
}
