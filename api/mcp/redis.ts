import { config } from '../../shared/lib/config.ts';
import { connectForCommands, type RedisClient } from '../../shared/lib/redis.ts';
import { perService } from '../../shared/lib/serviceScope.ts';
import { ServiceError } from '../../shared/spec/errors.ts';

/** Prefix of the keys that all API processes share. The braces keep them in one slot of a Redis Cluster. */
const prefix = () => `{${config.REDIS_PREFIX}}:mcp`;

export const mcpKeys = {
  /** Session as JSON: account, protocol version, last use. */
  session: (sessionId: string) => `${prefix()}:session:${sessionId}`,
  /** Sorted set of an account's sessions by last use. */
  accountSessions: (accountId: number) => `${prefix()}:account:${accountId}`,
  /** Stream of the session's notifications. */
  events: (sessionId: string) => `${prefix()}:events:${sessionId}`,
  /** Id of the last notification that was written to an event stream of the client. */
  cursor: (sessionId: string) => `${prefix()}:cursor:${sessionId}`,
  /** Token of the event stream that currently serves the session. Streams with another token end. */
  stream: (sessionId: string) => `${prefix()}:stream:${sessionId}`,
  /** Set of the sessions that are subscribed to a generation. */
  subscribers: (generationId: string) => `${prefix()}:subscribers:${generationId}`,
  /** Sorted set of all generations with subscribers, by expiry of the subscription. */
  subscribedGenerations: () => `${prefix()}:subscribed`,
  /** Lock of the process that currently sweeps the subscriptions. */
  sweepLock: () => `${prefix()}:sweep-lock`,
};

/** Channel for the ids of sessions with new events. */
export const eventsChannel = () => `${prefix()}:session-events`;

/** Time after which a client should try again while Redis is unavailable. A failover takes a few seconds. */
const OUTAGE_RETRY_SECONDS = 2;

/** Connection for commands, opened at its first use. */
export const mcpRedis = perService(() => connectForCommands('mcp'));

/**
 * Runs Redis commands and maps their failure.
 * @throws ServiceError 503 while Redis is unavailable.
 */
export async function withMcpRedis<Result>(work: (redis: RedisClient) => Promise<Result>): Promise<Result> {
  try {
    return await work(mcpRedis());
  } catch {
    const detail = 'MCP sessions are temporarily unavailable. Try again in a few seconds.';
    throw new ServiceError('internal_error', detail, { retryAfterSeconds: OUTAGE_RETRY_SECONDS });
  }
}
