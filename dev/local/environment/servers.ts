import { join } from 'node:path';
import { startPostgres } from '../servers/postgres.ts';
import { startRedis } from '../servers/redis.ts';
import type { RunningServer } from '../servers/runningServer.ts';

export interface ServersOptions {
  /** Contains the data folders `postgres` and `redis`. */
  folder: string;
  postgresSettings?: Record<string, string>;
  /** Persists the data of Redis. Default: true. */
  appendOnly?: boolean;
}

/** A Postgres and a Redis on free ports. */
export interface Servers {
  postgres: RunningServer;
  redis: RunningServer;
  stop(): Promise<void>;
}

/** Starts both servers. If one fails, stops the other. */
export async function startServers({ folder, postgresSettings, appendOnly }: ServersOptions): Promise<Servers> {
  const starting = [
    startPostgres({ dataDir: join(folder, 'postgres'), settings: postgresSettings }),
    startRedis({ dataDir: join(folder, 'redis'), appendOnly }),
  ] as const;
  const results = await Promise.allSettled(starting);
  const stop = async (): Promise<void> => {
    const running = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    await Promise.allSettled(running.map((server) => server.stop()));
  };
  try {
    const [postgres, redis] = await Promise.all(starting);
    return { postgres, redis, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
