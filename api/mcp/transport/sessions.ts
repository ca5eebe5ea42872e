import { createBatcher } from '../../../shared/lib/batcher.ts';
import { now } from '../../../shared/lib/clock.ts';
import { randomHex } from '../../../shared/lib/secrets.ts';
import { MCP_SESSION_IDLE_MS, MCP_SESSIONS_PER_ACCOUNT } from '../../../shared/spec/limits.ts';
import { withMcpRedis, mcpKeys, eventsChannel } from '../redis.ts';

/** A client that has introduced itself. It lives in Redis, so that any web process can serve it. */
export interface McpSession {
  id: string;
  accountId: number;
  /** The protocol version that was agreed on. */
  version: string;
}

interface StoredMcpSession {
  account: number;
  version: string;
  /** When its expiry was last put off, in milliseconds. */
  touched: number;
}

/** Interval between writes of a session's last use. Reading a session is one command, and usually writes nothing. */
const TOUCH_INTERVAL_MS = 60_000;

/** The id is a secret of its own, though it opens nothing without the credentials of its account. */
export async function createMcpSession(accountId: number, version: string): Promise<McpSession> {
  const id = randomHex(24);
  await withMcpRedis(async (redis) => {
    const all = mcpKeys.accountSessions(accountId);
    await redis
      .multi()
      .set(mcpKeys.session(id), serializeSession(accountId, version), 'PX', MCP_SESSION_IDLE_MS)
      .zadd(all, now().getTime(), id)
      .pexpire(all, MCP_SESSION_IDLE_MS)
      .exec();
    const oldest = await redis.zrange(all, '0', String(-1 - MCP_SESSIONS_PER_ACCOUNT));
    if (oldest.length === 0) return;
    await redis.del(
      ...oldest.flatMap((old) => [mcpKeys.session(old), mcpKeys.events(old), mcpKeys.cursor(old), mcpKeys.stream(old)]),
    );
    await redis.zrem(all, ...oldest);
  });
  return { id, accountId, version };
}

const readStoredSession = createBatcher<string, string | null>({
  maxItems: 128,
  // Where Redis hangs, those behind must not wait for those before.
  maxInFlight: 16,
  run: (ids) => withMcpRedis((redis) => redis.mget(ids.map(mcpKeys.session))),
});

/**
 * A session of an account; null where there is none (any more), or it is somebody else's.
 * @throws ServiceError 503 while Redis is out of reach.
 */
export async function findMcpSession(id: string, accountId: number): Promise<McpSession | null> {
  const text = await readStoredSession(id);
  if (text === null) return null;
  const { account, version, touched } = JSON.parse(text) as StoredMcpSession;
  if (account !== accountId) return null;
  if (now().getTime() - touched > TOUCH_INTERVAL_MS) {
    const all = mcpKeys.accountSessions(account);
    // Only what exists: a session that was ended or evicted in this moment stays so.
    await withMcpRedis((redis) =>
      redis
        .multi()
        .set(mcpKeys.session(id), serializeSession(account, version), 'PX', MCP_SESSION_IDLE_MS, 'XX')
        .zadd(all, 'XX', now().getTime(), id)
        .pexpire(all, MCP_SESSION_IDLE_MS)
        .exec(),
    );
  }
  return { id, accountId, version };
}

/** Ends a session, with all that is kept for it. A stream of it, wherever it is served, ends, too. */
export async function deleteMcpSession({ id, accountId }: McpSession): Promise<void> {
  await withMcpRedis(async (redis) => {
    await redis
      .multi()
      .del(mcpKeys.session(id), mcpKeys.events(id), mcpKeys.cursor(id), mcpKeys.stream(id))
      .zrem(mcpKeys.accountSessions(accountId), id)
      .exec();
    await redis.publish(eventsChannel(), id);
  });
}

function serializeSession(account: number, version: string): string {
  return JSON.stringify({ account, version, touched: now().getTime() } satisfies StoredMcpSession);
}
