import { createBatcher } from '../../../shared/lib/batcher.ts';
import { now } from '../../../shared/lib/clock.ts';
import { randomHex } from '../../../shared/lib/secrets.ts';
import { MCP_EVENT_RETENTION_MS, MCP_SESSION_IDLE_MS } from '../../../shared/spec/limits.ts';
import { type Context, requireCaller } from '../../context.ts';
import { eventsChannel, mcpKeys, mcpRedis, withMcpRedis } from '../redis.ts';
import { getHeader, McpTransportError } from './message.ts';
import { MINUTE_MS } from '../../../shared/spec/durations.ts';

/** Maximum number of sessions of an account. The most recently used are kept. */
const SESSIONS_PER_ACCOUNT_MAX = 1_000;

/** Session of an initialized client. Stored in Redis, so that any API process can serve it. */
export interface McpSession {
  id: string;
  accountId: number;
  /** The negotiated protocol version. */
  version: string;
  elicitsUrls: boolean;
}

interface StoredMcpSession {
  account: number;
  version: string;
  elicitsUrls?: boolean;
  /** When its expiry was last extended, in milliseconds since the epoch. */
  touched: number;
}

/** Interval between writes of a session's last use. Reading a session is one command, and usually writes nothing. */
const TOUCH_INTERVAL_MS = MINUTE_MS;

/**
 * First version whose clients know the error that asks them to open a page. Some declare the capability in earlier
 * ones.
 */
const URL_ELICITATION_SINCE = '2025-11-25';

/** Creates a session. The account's least recently used sessions above the limit are deleted. @returns its id. */
export async function createMcpSession(
  accountId: number,
  version: string,
  declaresUrlElicitation: boolean,
): Promise<string> {
  const id = randomHex(24);
  const elicitsUrls = declaresUrlElicitation && version >= URL_ELICITATION_SINCE;
  await withMcpRedis(async (redis) => {
    const all = mcpKeys.accountSessions(accountId);
    await redis
      .multi()
      .set(mcpKeys.session(id), serializeSession({ id, accountId, version, elicitsUrls }), 'PX', MCP_SESSION_IDLE_MS)
      .zadd(all, now().getTime(), id)
      .pexpire(all, MCP_SESSION_IDLE_MS)
      .exec();
    const oldest = await redis.zrange(all, '0', String(-1 - SESSIONS_PER_ACCOUNT_MAX));
    if (oldest.length === 0) return;
    await redis.del(...oldest.flatMap(listSessionKeys));
    await redis.zrem(all, ...oldest);
  });
  return id;
}

/** Lists the keys of a session, apart from its subscriptions. */
const listSessionKeys = (id: string): string[] => [
  mcpKeys.session(id),
  mcpKeys.events(id),
  mcpKeys.cursor(id),
  mcpKeys.stream(id),
];

const readStoredSession = createBatcher<string, string | null>({
  maxItems: 128,
  // More than one, so that a command that hangs does not hold up later requests.
  maxInFlight: 16,
  run: (ids) => withMcpRedis((redis) => redis.mget(ids.map(mcpKeys.session))),
});

/**
 * Finds the session that a request names in its header, and records its use.
 * @throws McpTransportError 400 without the header; 404 when the session has ended or belongs to another account.
 * @throws ServiceError 503 while Redis is unavailable.
 */
export async function requireMcpSession(ctx: Context): Promise<McpSession> {
  const id = getHeader(ctx, 'mcp-session-id');
  if (id === undefined) {
    const message = 'Mcp-Session-Id is missing. Send "initialize" first: its response has the session id.';
    throw new McpTransportError(400, message);
  }
  const { accountId } = requireCaller(ctx);
  const stored = JSON.parse((await readStoredSession(id)) ?? 'null') as StoredMcpSession | null;
  if (stored?.account !== accountId) {
    throw new McpTransportError(404, 'The session does not exist or has ended: send "initialize" again.');
  }
  const { version, elicitsUrls = false, touched } = stored;
  const session = { id, accountId, version, elicitsUrls };
  if (now().getTime() - touched > TOUCH_INTERVAL_MS) {
    const all = mcpKeys.accountSessions(accountId);
    // XX: a session that was deleted in the meantime must not be created again.
    await withMcpRedis((redis) =>
      redis
        .multi()
        .set(mcpKeys.session(id), serializeSession(session), 'PX', MCP_SESSION_IDLE_MS, 'XX')
        .zadd(all, 'XX', now().getTime(), id)
        .pexpire(all, MCP_SESSION_IDLE_MS)
        .exec(),
    );
  }
  return session;
}

/** Deletes a session with its stored events, and ends its stream on whichever process serves it. */
export async function deleteMcpSession({ id, accountId }: McpSession): Promise<void> {
  await withMcpRedis(async (redis) => {
    await redis
      .multi()
      .del(...listSessionKeys(id))
      .zrem(mcpKeys.accountSessions(accountId), id)
      .exec();
    await redis.publish(eventsChannel(), id);
  });
}

function serializeSession({ accountId, version, elicitsUrls }: McpSession): string {
  const stored: StoredMcpSession = { account: accountId, version, elicitsUrls, touched: now().getTime() };
  return JSON.stringify(stored);
}

/** Position before the first event. */
const STREAM_START_ID = '0-0';

/** Event ids are the ids of Redis stream entries. */
export const EVENT_ID_PATTERN = /^\d{1,16}-\d{1,16}$/;

/** Makes a stream the only one of its session. The previous stream ends, in this process or another. */
export async function claimStream(sessionId: string, token: string): Promise<void> {
  await mcpRedis().set(mcpKeys.stream(sessionId), token, 'PX', MCP_EVENT_RETENTION_MS);
  await mcpRedis().publish(eventsChannel(), sessionId);
}

/** Returns the last event that any stream of the session carried, for clients without a Last-Event-ID. */
export async function getLastSentEventId(sessionId: string): Promise<string> {
  return (await mcpRedis().get(mcpKeys.cursor(sessionId))) ?? STREAM_START_ID;
}

export async function saveLastSentEventId(sessionId: string, eventId: string): Promise<void> {
  await mcpRedis().set(mcpKeys.cursor(sessionId), eventId, 'PX', MCP_EVENT_RETENTION_MS);
}

/**
 * Reads the events after a position: the JSON text of each, with the id that a stream can resume from. Null when
 * another stream was claimed or the session has ended.
 */
export async function readEventsAfter(
  { id: sessionId, accountId }: McpSession,
  token: string,
  after: string,
): Promise<{ id: string; message: string }[] | null> {
  const results = await mcpRedis()
    .multi()
    .exists(mcpKeys.session(sessionId))
    .get(mcpKeys.stream(sessionId))
    .xrange(mcpKeys.events(sessionId), `(${after}`, '+')
    // An open stream keeps its session alive.
    .pexpire(mcpKeys.stream(sessionId), MCP_EVENT_RETENTION_MS)
    .pexpire(mcpKeys.session(sessionId), MCP_SESSION_IDLE_MS)
    .zadd(mcpKeys.accountSessions(accountId), 'XX', now().getTime(), sessionId)
    .pexpire(mcpKeys.accountSessions(accountId), MCP_SESSION_IDLE_MS)
    .exec();
  const [exists, owner, entries] = (results ?? []).map(([error, value]) => {
    if (error !== null) throw error;
    return value;
  });
  if (exists !== 1 || owner !== token) return null;
  return (entries as [string, string[]][]).map(([id, fields]) => ({ id, message: fields[1] as string }));
}
