import { Redis } from 'ioredis';
import { config } from './config.ts';
import { logger } from './logger.ts';

/** TLS options for REDIS_TLS=no-verify. By default a `rediss://` server needs a certificate from a trusted authority. */
const tlsOptions = () =>
  config.REDIS_TLS === 'no-verify' && config.REDIS_URL.startsWith('rediss:')
    ? { tls: { rejectUnauthorized: false } }
    : {};

/**
 * Connects for commands that a request waits for. While Redis is unavailable, commands fail immediately instead of
 * being queued; the connection recovers by itself.
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

/** Connects for workers and subscribers, which wait for Redis for as long as it is unavailable. */
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

/** Time for which a process waits for Redis at its start. It must start also while Redis is unavailable. */
const STARTUP_TIMEOUT_MS = 2_000;

/** Resolves once the connection is ready, or after the timeout. Callers must handle a Redis that is unavailable. */
export async function waitUntilReady(redis: Redis): Promise<void> {
  if (redis.status === 'ready') return;
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, STARTUP_TIMEOUT_MS);
    redis.once('ready', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** Subscribes to a channel. Resolves once subscribed, or after the timeout; the subscription is then still pending. */
export async function subscribeToChannel(subscriber: Redis, channel: string): Promise<void> {
  const subscribed = subscriber.subscribe(channel).catch(() => undefined);
  await Promise.race([subscribed, new Promise((resolve) => setTimeout(resolve, STARTUP_TIMEOUT_MS))]);
}

function retryStrategy(attempt: number): number {
  return Math.min(50 * attempt, 1_000);
}

/** Logs an outage once, not at each attempt to reconnect. */
function withConnectionLog(name: string, redis: Redis): Redis {
  let isDisconnected = false;
  redis.on('error', (error) => {
    if (!isDisconnected) logger.warn({ connection: name, err: error }, 'redis is unavailable');
    isDisconnected = true;
  });
  redis.on('ready', () => {
    if (isDisconnected) logger.info({ connection: name }, 'redis is available again');
    isDisconnected = false;
  });
  return redis;
}
