import { createBatcher } from '../../../shared/lib/batcher.ts';
import { now } from '../../../shared/lib/clock.ts';
import { randomHex } from '../../../shared/lib/secrets.ts';
import { MCP_EVENT_RETENTION_MS, MCP_SESSION_IDLE_MS } from '../../../shared/spec/limits.ts';
import { type Context, requireCaller } from '../../context.ts';
import { eventsChannel, mcpKeys, mcpRedis, withMcpRedis } from '../redis.ts';
import { getHeader, McpTransportError, TRANSPORT_ERROR } from './message.ts';
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
  /** Absent if false. */
  elicitsUrls?: true;
  /** When its expiry was last extended, in milliseconds since the epoch. */
  touched: number;
}

/** Interval between writes of a session's last use. Reading a session is one command, and usually writes nothing. */
const TOUCH_INTERVAL_MS = MINUTE_MS;

/** First version whose clients know the error that asks them to open a page. Some declare the capability in earlier ones. */
const URL_ELICITATION_SINCE = '2025-11-25';

/** Creates a session. The account's least recently used sessions above the limit are deleted. */
export async function createMcpSession(
  accountId: number,
  version: string,
  declaresUrlElicitation: boolean,
): Promise<McpSession> {
  const elicitsUrls = declaresUrlElicitation && version >= URL_ELICITATION_SINCE;
  const session = { id: randomHex(24), accountId, version, elicitsUrls };
  const { id } = session;
  await withMcpRedis(async (redis) => {
    const all = mcpKeys.accountSessions(accountId);
    await redis
      .multi()
      .set(mcpKeys.session(id), serializeSession(session), 'PX', MCP_SESSION_IDLE_MS)
      .zadd(all, now().getTime(), id)
      .pexpire(all, MCP_SESSION_IDLE_MS)
      .exec();
    const oldest = await redis.zrange(all, '0', String(-1 - SESSIONS_PER_ACCOUNT_MAX));
    if (oldest.length === 0) return;
    await redis.del(
      ...oldest.flatMap((old) => [mcpKeys.session(old), mcpKeys.events(old), mcpKeys.cursor(old), mcpKeys.stream(old)]),
    );
    await redis.zrem(all, ...oldest);
  });
  return session;
}

const readStoredSession = createBatcher<string, string | null>({
  maxItems: 128,
  // More than one, so that a command that hangs does not hold up later requests.
  maxInFlight: 16,
  run: (ids) => withMcpRedis((redis) => redis.mget(ids.map(mcpKeys.session))),
});

const SESSION_ID_PATTERN = /^[0-9a-f]{48}$/;

/** Starts to read the session that a request names, while its credential is checked. Only the account of the session may use it. */
export function prefetchMcpSession(ctx: Context): void {
  const id = getHeader(ctx, 'mcp-session-id');
  if (id === undefined || !SESSION_ID_PATTERN.test(id)) return;
  ctx.state.mcpSession = readStoredSession(id);
  // Awaited later, or not at all if the credential is invalid.
  ctx.state.mcpSession.catch(() => {});
}

/**
 * Finds the session that a request names in its header.
 * @throws McpTransportError 400 without the header; 404 when the session has ended or belongs to another account.
 */
export async function requireMcpSession(ctx: Context): Promise<McpSession> {
  const id = getHeader(ctx, 'mcp-session-id');
  if (id === undefined) {
    const message = 'Mcp-Session-Id is missing. Send "initialize" first: its response has the session id.';
    throw new McpTransportError(400, TRANSPORT_ERROR, message);
  }
  const text = await (ctx.state.mcpSession ?? readStoredSession(id));
  const session = text === null ? null : await useMcpSession(id, requireCaller(ctx).accountId, text);
  if (session !== null) return session;
  throw new McpTransportError(
    404,
    TRANSPORT_ERROR,
    'The session does not exist or has ended: send "initialize" again.',
  );
}

/**
 * Parses a stored session, and records its use. Null when it belongs to another account.
 * @throws ServiceError 503 while Redis is unavailable.
 */
async function useMcpSession(id: string, accountId: number, text: string): Promise<McpSession | null> {
  const { account, version, elicitsUrls = false, touched } = JSON.parse(text) as StoredMcpSession;
  if (account !== accountId) return null;
  const session = { id, accountId, version, elicitsUrls };
  if (now().getTime() - touched > TOUCH_INTERVAL_MS) {
    const all = mcpKeys.accountSessions(account);
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
      .del(mcpKeys.session(id), mcpKeys.events(id), mcpKeys.cursor(id), mcpKeys.stream(id))
      .zrem(mcpKeys.accountSessions(accountId), id)
      .exec();
    await redis.publish(eventsChannel(), id);
  });
}

function serializeSession({ accountId, version, elicitsUrls }: McpSession): string {
  const touched = now().getTime();
  const stored: StoredMcpSession = { account: accountId, version, ...(elicitsUrls ? { elicitsUrls } : {}), touched };
  return JSON.stringify(stored);
}

/** A message for a client, with the id that a stream can resume from. */
export interface StoredEvent {
  id: string;
  /** The JSON text that is sent. */
  message: string;
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

/** Reads the events after a position. Null when another stream was claimed or the session has ended. */
export async function readEventsAfter(
  { id: sessionId, accountId }: McpSession,
  token: string,
  after: string,
): Promise<StoredEvent[] | null> {
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
