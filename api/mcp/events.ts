import { MCP_EVENTS_MS, MCP_SESSION_MS } from '../../shared/spec/limits.ts';
import { keys, newsChannel, store } from './store.ts';

/** A message for a client, under the id that it can resume from. */
export interface Event {
  id: string;
  /** JSON, as it is sent. */
  message: string;
}

/** The place before the first event. */
export const BEGINNING = '0-0';

/** How an id of an event looks: it is Redis' own for the entry of a stream. */
export const EVENT_ID = /^\d{1,16}-\d{1,16}$/;

/** Makes one stream of a session the one that is served, here or in another process; the one before it ends. */
export async function takeStream(sessionId: string, token: string): Promise<void> {
  await store().set(keys.stream(sessionId), token, 'PX', MCP_EVENTS_MS);
  await store().publish(newsChannel(), sessionId);
}

/** The last event that was written to a stream of the session, for a client that does not say what it has seen. */
export async function lastWritten(sessionId: string): Promise<string> {
  return (await store().get(keys.cursor(sessionId))) ?? BEGINNING;
}

export async function noteWritten(sessionId: string, eventId: string): Promise<void> {
  await store().set(keys.cursor(sessionId), eventId, 'PX', MCP_EVENTS_MS);
}

/** What there is for a stream: null where another one has taken its place, or the session is over. */
export async function eventsAfter(sessionId: string, token: string, after: string): Promise<Event[] | null> {
  const answers = await store()
    .multi()
    .exists(keys.session(sessionId))
    .get(keys.stream(sessionId))
    .xrange(keys.events(sessionId), `(${after}`, '+')
    // As long as its stream is open, a session is in use.
    .pexpire(keys.stream(sessionId), MCP_EVENTS_MS)
    .pexpire(keys.session(sessionId), MCP_SESSION_MS)
    .exec();
  const [exists, owner, entries] = (answers ?? []).map(([error, value]) => {
    if (error !== null) throw error;
    return value;
  });
  if (exists !== 1 || owner !== token) return null;
  return (entries as [string, string[]][]).map(([id, fields]) => ({ id, message: fields[1] as string }));
}
