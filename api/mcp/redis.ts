import type { Redis } from 'ioredis';
import { config } from '../../shared/lib/config.ts';
import { connectForCommands, waitUntilReady } from '../../shared/lib/redis.ts';
import { perService } from '../../shared/lib/serviceScope.ts';
import { ServiceError } from '../../shared/spec/errors.ts';

/** Where MCP keeps what all web processes share. The braces keep it in one slot of a Redis Cluster. */
const prefix = () => `{${config.REDIS_PREFIX}}:mcp`;

export const mcpKeys = {
  /** Whose session it is, and of which version: JSON. */
  session: (sessionId: string) => `${prefix()}:session:${sessionId}`,
  /** The sessions of an account, by their last use. */
  accountSessions: (accountId: number) => `${prefix()}:account:${accountId}`,
  /** What the session has to be told, as a stream. */
  events: (sessionId: string) => `${prefix()}:events:${sessionId}`,
  /** The last of these that was written to a stream of the client's. */
  cursor: (sessionId: string) => `${prefix()}:cursor:${sessionId}`,
  /** Which of its streams is served; the others end. */
  stream: (sessionId: string) => `${prefix()}:stream:${sessionId}`,
  /** The sessions that want to be told of a generation's end. */
  subscribers: (generationId: string) => `${prefix()}:watchers:${generationId}`,
  /** All generations that have watchers, by when they are given up. */
  subscribedGenerations: () => `${prefix()}:watched`,
  /** Held by the process that looks after them at the moment. */
  sweepLock: () => `${prefix()}:sweep`,
  /** What begins the names of sessions and events, for a script. */
  prefix,
};

/** Where it is said which session has something new. */
export const eventsChannel = () => `${prefix()}:session-updates`;

/** The connection for commands, opened at its first use. */
export const mcpRedis = perService(() => connectForCommands('mcp'));

export async function openMcpRedis(): Promise<void> {
  await waitUntilReady(mcpRedis(), 2_000);
}

export function closeMcpRedis(): void {
  mcpRedis().disconnect();
}

/**
 * What work in Redis brings.
 * @throws ServiceError 503 while Redis is out of reach.
 */
export async function withMcpRedis<Result>(work: (redis: Redis) => Promise<Result>): Promise<Result> {
  try {
    return await work(mcpRedis());
  } catch {
    const detail = 'MCP sessions are out of reach for the moment. Try again in some seconds.';
    throw new ServiceError('internal_error', detail, { retryAfterSeconds: 5 });
  }
}
