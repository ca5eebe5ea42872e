import { type Cluster, type CommonRedisOptions, Redis } from 'ioredis';
import { config } from './config.ts';
import { logger } from './logger.ts';
import { throttleLog } from './logThrottle.ts';
import { ReconnectingCluster, ReconnectingRedis } from './reconnectingRedis.ts';
import { parseRedisAddress } from './redisAddress.ts';

/** A connection to one server, to the master that Sentinels know, or to all nodes of a Redis Cluster. */
export type RedisClient = Redis | Cluster;

/** Interval at which a connection checks that its server is still a master. */
const ROLE_CHECK_INTERVAL_MS = 1_000;
/** Checks in a row without an answer after which a server counts as gone: some seconds, as a busy one needs. */
const SILENT_CHECKS_MAX = 5;
const ROLE_LOG_INTERVAL_MS = 60_000;
/** Longest wait of a connection for commands between its attempts to reconnect. */
const COMMANDS_RECONNECT_DELAY_MAX_MS = 200;
/** Time that a server has to answer the end of a connection. One that lost its power, or is frozen, never does. */
const DISCONNECT_TIMEOUT_MS = 200;
/** Message of ioredis for a command that exceeds `commandTimeout`. */
const COMMAND_TIMEOUT = 'Command timed out';
/** Statuses in which an answer of the server is due: to the handshake, or to the check of its role. */
const CONNECTED_STATUSES: ReadonlySet<string> = new Set(['connect', 'ready']);
/** Errors of a server that is not, or no longer, the master: the same address or the Sentinels lead to the new one. */
const NOT_MASTER = /^(READONLY|LOADING|MASTERDOWN|UNBLOCKED)\b/;

/**
 * Connects for commands that a request waits for. While Redis is unavailable, commands fail immediately instead of
 * being queued; the connection recovers by itself, and soon, because requests fail until then.
 */
export function connectForCommands(name: string, timeoutMs = 1_000): RedisClient {
  return connect(name, {
    maxRetriesPerRequest: 1,
    enableOfflineQueue: false,
    commandTimeout: timeoutMs,
    retryStrategy: (attempt) => reconnectDelayMs(attempt, COMMANDS_RECONNECT_DELAY_MAX_MS),
  });
}

/** Connects for workers and subscribers, which wait for Redis for as long as it is unavailable. */
export function connectForBlocking(name: string): RedisClient {
  return connect(name, { maxRetriesPerRequest: null });
}

/** Time for which a process waits for Redis at its start. It must start also while Redis is unavailable. */
const STARTUP_TIMEOUT_MS = 2_000;

/** Resolves once the connection is ready, or after the timeout. Callers must handle a Redis that is unavailable. */
export async function waitUntilReady(redis: RedisClient): Promise<void> {
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
export async function subscribeToChannel(subscriber: RedisClient, channel: string): Promise<void> {
  const subscribed = subscriber.subscribe(channel).catch(() => undefined);
  await Promise.race([subscribed, new Promise((resolve) => setTimeout(resolve, STARTUP_TIMEOUT_MS))]);
}

function connect(name: string, options: CommonRedisOptions): RedisClient {
  const redis = createRedisClient(config.REDIS_URL, {
    ...options,
    connectionName: `genmeter-${name}`,
    isCertificateVerified: config.REDIS_TLS === 'verify',
  });
  logConnection(name, redis);
  if (redis instanceof Redis) leaveReplica(name, redis);
  return redis;
}

interface OpenOptions extends Omit<CommonRedisOptions, 'replyMapping'> {
  /** False accepts any certificate of a TLS server. */
  isCertificateVerified: boolean;
}

/**
 * Opens a connection to any form of REDIS_URL.
 * @throws Error if the address is invalid.
 */
export function createRedisClient(url: string, { isCertificateVerified, ...options }: OpenOptions): RedisClient {
  const address = parseRedisAddress(url);
  const tls = address.isTls ? { tls: { rejectUnauthorized: isCertificateVerified } } : {};
  const disconnectTimeout = DISCONNECT_TIMEOUT_MS;
  if (address.kind === 'cluster') {
    const {
      enableOfflineQueue = true,
      lazyConnect = false,
      retryStrategy = reconnectDelayMs,
      ...nodeOptions
    } = options;
    return new ReconnectingCluster(address.nodes, {
      redisOptions: { ...nodeOptions, ...tls, ...address.credentials, disconnectTimeout },
      enableOfflineQueue,
      lazyConnect,
      clusterRetryStrategy: (attempt) => retryStrategy?.(attempt),
      // A failover is seen within this time even if the old master does not answer.
      slotsRefreshInterval: 2_000,
      slotsRefreshTimeout: 2_000,
      // Keeps the names of nodes, for which their certificates are valid.
      dnsLookup: (host, callback) => callback(null, host),
    });
  }
  const server = {
    retryStrategy: reconnectDelayMs,
    // The failed command is rejected: commands of a transaction must not be repeated outside of it.
    reconnectOnError: (error: Error) => NOT_MASTER.test(error.message),
    ...options,
    ...tls,
    disconnectTimeout,
  };
  if (address.kind === 'single') return new Redis(address.url, server);
  const { sentinels, name, db, credentials, sentinelCredentials, isTls } = address;
  return new ReconnectingRedis({
    ...server,
    ...credentials,
    sentinels,
    name,
    db,
    role: 'master',
    sentinelUsername: sentinelCredentials.username,
    sentinelPassword: sentinelCredentials.password,
    sentinelRetryStrategy: server.retryStrategy ?? (() => null),
    sentinelCommandTimeout: 1_000,
    enableTLSForSentinelMode: isTls,
    sentinelTLS: tls.tls,
    // Leaves a master that does not answer as soon as a Sentinel reports its successor.
    failoverDetector: true,
  });
}

function reconnectDelayMs(attempt: number, maxMs = 1_000): number {
  return Math.min(50 * attempt, maxMs);
}

/**
 * Reconnects when the server has become a replica, or sends nothing although an answer is due. A replica accepts
 * subscriptions and messages, which would then never meet those of processes at the new master; for other commands this
 * is faster than the first rejected write. A server that has lost its power or network closes no connection, and TCP
 * keep-alives stop while a command is pending.
 */
function leaveReplica(name: string, redis: Redis): void {
  const logLeaving = throttleLog(ROLE_LOG_INTERVAL_MS, (suppressed, message: string) =>
    logger.warn({ connection: name, suppressed }, message),
  );
  let isChecking = false;
  let bytesReceived = 0;
  /** Counted instead of timed, because the process itself may have been suspended. */
  let silentChecks = 0;
  const leave = (message: string) => {
    logLeaving(message);
    redis.disconnect(true);
  };
  const leaveIfSilent = () => {
    // Any answer counts, also one that is too late for its command: reconnecting would delay a busy server further.
    const isAnswering = redis.stream.bytesRead !== bytesReceived;
    silentChecks = isAnswering || !CONNECTED_STATUSES.has(redis.status) ? 0 : silentChecks + 1;
    bytesReceived = redis.stream.bytesRead;
    if (silentChecks < SILENT_CHECKS_MAX) return;
    silentChecks = 0;
    leave('redis server does not answer; reconnecting');
  };
  const check = async () => {
    // After the socket was read once more.
    if (redis.stream !== undefined) setImmediate(leaveIfSilent);
    if (isChecking || redis.status !== 'ready') return;
    isChecking = true;
    const replication = await redis.info('replication').catch((error: Error) => {
      // Rejected without being sent: on a subscribed connection to a server without RESP3, no answer is due.
      if (error.message !== COMMAND_TIMEOUT) silentChecks = 0;
      return '';
    });
    isChecking = false;
    if (/^role:slave/m.test(replication) && redis.status === 'ready')
      leave('redis server is not a master; reconnecting');
  };
  const timer = setInterval(() => void check(), ROLE_CHECK_INTERVAL_MS).unref();
  redis.on('end', () => {
    if (!(redis instanceof ReconnectingRedis) || redis.isClosed) clearInterval(timer);
  });
}

/** Logs an outage once, not at each attempt to reconnect. */
function logConnection(name: string, redis: RedisClient): void {
  let isDisconnected = false;
  redis.on('error', (error: Error) => {
    if (!isDisconnected) logger.warn({ connection: name, err: error }, 'redis is unavailable');
    isDisconnected = true;
  });
  redis.on('ready', () => {
    if (isDisconnected) logger.info({ connection: name }, 'redis is available again');
    isDisconnected = false;
  });
}
