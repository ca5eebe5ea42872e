import { MCP_EVENT_RETENTION_MS, MCP_SESSION_IDLE_MS } from '../../../shared/spec/limits.ts';
import { mcpKeys, eventsChannel, mcpRedis } from '../redis.ts';

/** A message for a client, under the id that it can resume from. */
export interface StoredEvent {
  id: string;
  /** JSON, as it is sent. */
  message: string;
}

/** The place before the first event. */
export const STREAM_START_ID = '0-0';

/** How an id of an event looks: it is Redis' own for the entry of a stream. */
export const EVENT_ID_PATTERN = /^\d{1,16}-\d{1,16}$/;

/** Makes one stream of a session the one that is served, here or in another process; the one before it ends. */
export async function claimStream(sessionId: string, token: string): Promise<void> {
  await mcpRedis().set(mcpKeys.stream(sessionId), token, 'PX', MCP_EVENT_RETENTION_MS);
  await mcpRedis().publish(eventsChannel(), sessionId);
}

/** The last event that was written to a stream of the session, for a client that does not say what it has seen. */
export async function getLastSentEventId(sessionId: string): Promise<string> {
  return (await mcpRedis().get(mcpKeys.cursor(sessionId))) ?? STREAM_START_ID;
}

export async function saveLastSentEventId(sessionId: string, eventId: string): Promise<void> {
  await mcpRedis().set(mcpKeys.cursor(sessionId), eventId, 'PX', MCP_EVENT_RETENTION_MS);
}

/** What there is for a stream: null where another one has taken its place, or the session is over. */
export async function readEventsAfter(sessionId: string, token: string, after: string): Promise<StoredEvent[] | null> {
  const results = await mcpRedis()
    .multi()
    .exists(mcpKeys.session(sessionId))
    .get(mcpKeys.stream(sessionId))
    .xrange(mcpKeys.events(sessionId), `(${after}`, '+')
    // As long as its stream is open, a session is in use.
    .pexpire(mcpKeys.stream(sessionId), MCP_EVENT_RETENTION_MS)
    .pexpire(mcpKeys.session(sessionId), MCP_SESSION_IDLE_MS)
    .exec();
  const [exists, owner, entries] = (results ?? []).map(([error, value]) => {
    if (error !== null) throw error;
    return value;
  });
  if (exists !== 1 || owner !== token) return null;
  return (entries as [string, string[]][]).map(([id, fields]) => ({ id, message: fields[1] as string }));
}
