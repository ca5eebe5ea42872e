import { Redis } from 'ioredis';
import { config } from './config.ts';
import { logger } from './logger.ts';

/** Without this a `rediss://` address must have a certificate that somebody known has signed. */
const tlsOptions = () =>
  config.REDIS_TLS === 'no-verify' && config.REDIS_URL.startsWith('rediss:')
    ? { tls: { rejectUnauthorized: false } }
    : {};

/**
 * For commands that somebody waits for: while Redis is away they are refused at once instead of queued, and the
 * connection comes back by itself.
 */
export function connectForCommands(name: string, timeoutMs = 1_000): Redis {
  return withConnectionLog(
    name,
    new Redis(config.REDIS_URL, {
      ...tlsOptions(),
      connectionName: `genmeter-${name}`,
      maxRetriesPerRequest: 1,
      enableOfflineQueue: false,
      commandTimeout: timeoutMs,
      retryStrategy,
    }),
  );
}

/** For workers and subscribers, which wait for Redis however long it is away. */
export function connectForBlocking(name: string): Redis {
  return withConnectionLog(
    name,
    new Redis(config.REDIS_URL, {
      ...tlsOptions(),
      connectionName: `genmeter-${name}`,
      maxRetriesPerRequest: null,
      retryStrategy,
    }),
  );
}

/** Resolves once the connection is ready, or after the time is over: what follows copes with a Redis that is away. */
export async function waitUntilReady(redis: Redis, timeoutMs: number): Promise<void> {
  if (redis.status === 'ready') return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, timeoutMs);
    redis.once('ready', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

function retryStrategy(attempt: number): number {
  return Math.min(50 * attempt, 1_000);
}

/** A Redis that is away says so once, not at each attempt to reconnect. */
function withConnectionLog(name: string, redis: Redis): Redis {
  let isDisconnected = false;
  redis.on('error', (error) => {
    if (!isDisconnected) logger.warn({ connection: name, error: error.message }, 'redis is out of reach');
    isDisconnected = true;
  });
  redis.on('ready', () => {
    if (isDisconnected) logger.info({ connection: name }, 'redis is back');
    isDisconnected = false;
  });
  return redis;
}
