import { createBatcher } from '../../shared/lib/batcher.ts';
import { now } from '../../shared/lib/clock.ts';
import { randomHex } from '../../shared/lib/secrets.ts';
import { MCP_SESSION_MS, MCP_SESSIONS_PER_ACCOUNT } from '../../shared/spec/limits.ts';
import { inStore, keys, newsChannel } from './store.ts';

/** A client that has introduced itself. It lives in Redis, so that any web process can serve it. */
export interface Session {
  id: string;
  accountId: number;
  /** The protocol version that was agreed on. */
  version: string;
}

interface Stored {
  account: number;
  version: string;
  /** When its expiry was last put off, in milliseconds. */
  touched: number;
}

/** Interval between writes of a session's last use. Reading a session is one command, and usually writes nothing. */
const TOUCH_MS = 60_000;

/** The id is a secret of its own, though it opens nothing without the credentials of its account. */
export async function createSession(accountId: number, version: string): Promise<Session> {
  const id = randomHex(24);
  await inStore(async (redis) => {
    const all = keys.sessionsOf(accountId);
    await redis
      .multi()
      .set(keys.session(id), stored(accountId, version), 'PX', MCP_SESSION_MS)
      .zadd(all, now().getTime(), id)
      .pexpire(all, MCP_SESSION_MS)
      .exec();
    const oldest = await redis.zrange(all, '0', String(-1 - MCP_SESSIONS_PER_ACCOUNT));
    if (oldest.length === 0) return;
    await redis.del(
      ...oldest.flatMap((old) => [keys.session(old), keys.events(old), keys.cursor(old), keys.stream(old)]),
    );
    await redis.zrem(all, ...oldest);
  });
  return { id, accountId, version };
}

const read = createBatcher<string, string | null>({
  maxItems: 128,
  // Where Redis hangs, those behind must not wait for those before.
  maxInFlight: 16,
  run: (ids) => inStore((redis) => redis.mget(ids.map(keys.session))),
});

/**
 * A session of an account; null where there is none (any more), or it is somebody else's.
 * @throws ServiceError 503 while Redis is out of reach.
 */
export async function findSession(id: string, accountId: number): Promise<Session | null> {
  const text = await read(id);
  if (text === null) return null;
  const { account, version, touched } = JSON.parse(text) as Stored;
  if (account !== accountId) return null;
  if (now().getTime() - touched > TOUCH_MS) {
    const all = keys.sessionsOf(account);
    // Only what exists: a session that was ended or evicted in this moment stays so.
    await inStore((redis) =>
      redis
        .multi()
        .set(keys.session(id), stored(account, version), 'PX', MCP_SESSION_MS, 'XX')
        .zadd(all, 'XX', now().getTime(), id)
        .pexpire(all, MCP_SESSION_MS)
        .exec(),
    );
  }
  return { id, accountId, version };
}

/** Ends a session, with all that is kept for it. A stream of it, wherever it is served, ends, too. */
export async function endSession({ id, accountId }: Session): Promise<void> {
  await inStore(async (redis) => {
    await redis
      .multi()
      .del(keys.session(id), keys.events(id), keys.cursor(id), keys.stream(id))
      .zrem(keys.sessionsOf(accountId), id)
      .exec();
    await redis.publish(newsChannel(), id);
  });
}

function stored(account: number, version: string): string {
  return JSON.stringify({ account, version, touched: now().getTime() } satisfies Stored);
}
