import { readdirSync, readFileSync } from 'node:fs';
import { startPostgres } from '../local/servers/postgres.ts';
import { startRedis } from '../local/servers/redis.ts';
import type { RunningServer } from '../local/servers/runningServer.ts';

/** Postgres or Redis, with all its processes in our hands. */
export interface ControlledServer {
  readonly url: string;
  readonly source: string;
  pids(): number[];
  /** All its processes stand still, until `resume`. */
  pause(): void;
  resume(): void;
  /** As a power cut of its machine. Resolves when it is back, with all that it had promised to keep. */
  killAndRestart(): Promise<void>;
  stop(): Promise<void>;
}

/** Nothing needs to survive a power cut of this machine; all that was promised survives one of the processes. */
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
        // It has ended in the meantime, as a backend does.
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

function listChildPids(parent: number): number[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .filter((pid) => readParentPid(pid) === parent);
  } catch {
    return [];
  }
}

function readParentPid(pid: number): number | null {
  try {
    // The name in brackets may contain anything; what follows it does not.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ');
    return Number(fields?.[1]);
  } catch {
    return null;
  }
}
