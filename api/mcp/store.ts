import type { Redis } from 'ioredis';
import { config } from '../../shared/lib/config.ts';
import { connectForCommands, readyWithin } from '../../shared/lib/redis.ts';
import { ServiceError } from '../../shared/spec/errors.ts';

/** Where MCP keeps what all web processes share. The braces keep it in one slot of a Redis Cluster. */
const PREFIX = `{${config.REDIS_PREFIX}}:mcp`;

export const keys = {
  /** Whose session it is, and of which version: JSON. */
  session: (sessionId: string) => `${PREFIX}:session:${sessionId}`,
  /** The sessions of an account, by when they began. */
  sessionsOf: (accountId: number) => `${PREFIX}:account:${accountId}`,
  /** What the session has to be told, as a stream. */
  events: (sessionId: string) => `${PREFIX}:events:${sessionId}`,
  /** The last of these that was written to a stream of the client's. */
  cursor: (sessionId: string) => `${PREFIX}:cursor:${sessionId}`,
  /** Which of its streams is served; the others end. */
  stream: (sessionId: string) => `${PREFIX}:stream:${sessionId}`,
  /** The sessions that want to be told of a generation's end. */
  watchers: (generationId: string) => `${PREFIX}:watchers:${generationId}`,
  /** All generations that have watchers, by when they are given up. */
  watched: `${PREFIX}:watched`,
  /** Held by the process that looks after them at the moment. */
  sweep: `${PREFIX}:sweep`,
  /** What begins the names of sessions and events, for a script. */
  prefix: PREFIX,
};

/** Where it is said which session has something new. */
export const NEWS = `${PREFIX}:news`;

let connection: Redis | undefined;

/** The connection for commands, made at its first use. */
export function store(): Redis {
  connection ??= connectForCommands('mcp');
  return connection;
}

export async function openStore(): Promise<void> {
  await readyWithin(store(), 2_000);
}

export function closeStore(): void {
  connection?.disconnect();
  connection = undefined;
}

/**
 * What work in Redis brings.
 * @throws ServiceError 503 while Redis is out of reach.
 */
export async function inStore<Result>(work: (redis: Redis) => Promise<Result>): Promise<Result> {
  try {
    return await work(store());
  } catch {
    const detail = 'MCP sessions are out of reach for the moment. Try again in some seconds.';
    throw new ServiceError('internal_error', detail, { status: 503, headers: { 'retry-after': '5' } });
  }
}
