import { endedAmong } from '../../shared/domain/generations/ended.ts';
import { now } from '../../shared/lib/clock.ts';
import { logger } from '../../shared/lib/logger.ts';
import { onAnnouncement } from '../../shared/queues/announcements.ts';
import { perService } from '../../shared/lib/serviceScope.ts';
import { JOB_DEADLINE_MS, MCP_EVENTS_MAX, MCP_EVENTS_MS } from '../../shared/spec/limits.ts';
import { inStore, keys, newsChannel, store } from './store.ts';
import { uriOf } from './uris.ts';

/**
 * Tells sessions, and streams of the stateless era, of the end of generations that they watch. Watchers of sessions are
 * kept in Redis, so that it matters neither which process hears of an end nor whether one serves the session just then:
 * the message goes into the session's log, once, in the same step that takes the watchers off.
 */

/** Nothing is under way for longer than this. */
const WATCH_MS = JOB_DEADLINE_MS.video + 10 * 60_000;
/** How often those are looked after of whose end no announcement came. */
const SWEEP_MS = 5_000;

const TELL = `
  local sessions = redis.call('SMEMBERS', KEYS[1])
  redis.call('DEL', KEYS[1])
  redis.call('ZREM', KEYS[2], ARGV[1])
  for _, session in ipairs(sessions) do
    if redis.call('EXISTS', ARGV[3] .. ':session:' .. session) == 1 then
      local events = ARGV[3] .. ':events:' .. session
      redis.call('XADD', events, 'MAXLEN', '~', ARGV[4], '*', 'message', ARGV[2])
      redis.call('PEXPIRE', events, ARGV[5])
      redis.call('PUBLISH', ARGV[6], session)
    end
  end
  return #sessions`;

/** Those of streams that this process itself serves: they end with it. */
const localWatchers = perService(() => new Map<string, Set<() => void>>());

/** Has a session told once when a generation has ended; one that has ended already is told of at once. */
export async function watchForSession(sessionId: string, generationId: string): Promise<void> {
  const until = now().getTime() + WATCH_MS;
  await inStore((redis) =>
    redis
      .multi()
      .sadd(keys.watchers(generationId), sessionId)
      .pexpire(keys.watchers(generationId), WATCH_MS)
      .zadd(keys.watched(), until, generationId)
      .exec(),
  );
  // Looked at only now: what ends in between is heard of twice rather than never.
  for (const ended of await endedAmong([generationId])) await inStore(() => tell(ended));
}

export async function unwatchForSession(sessionId: string, generationId: string): Promise<void> {
  await inStore((redis) => redis.srem(keys.watchers(generationId), sessionId));
}

/** Calls back when a generation has ended. @returns what ends the watch. */
export function watchHere(generationId: string, onEnd: () => void): () => void {
  const local = localWatchers();
  const watchers = local.get(generationId) ?? new Set();
  local.set(generationId, watchers);
  watchers.add(onEnd);
  return () => {
    watchers.delete(onEnd);
    if (watchers.size === 0 && local.get(generationId) === watchers) local.delete(generationId);
  };
}

/** Tells those in this process at once of what has ended before they began to watch. */
export async function tellOfEnded(generationIds: readonly string[]): Promise<void> {
  for (const id of await endedAmong(generationIds)) tellHere(id);
}

/** Begins to listen, once in a process. @returns what ends it. */
export function startWatching(): () => void {
  onAnnouncement((ids) => void quietly(() => hear(ids)));
  const sweeping = setInterval(() => void quietly(sweep), SWEEP_MS);
  return () => {
    onAnnouncement(() => {});
    clearInterval(sweeping);
  };
}

/** A generation was looked at. Most are watched by nobody, which is found out without the database. */
async function hear(ids: string[]): Promise<void> {
  const here = ids.filter((id) => localWatchers().has(id));
  const pipeline = store().pipeline();
  for (const id of ids) pipeline.exists(keys.watchers(id));
  const counts = await pipeline.exec().catch(() => null);
  const elsewhere = ids.filter((_, index) => counts?.[index]?.[1] === 1);
  for (const id of await endedAmong([...new Set([...here, ...elsewhere])])) {
    tellHere(id);
    if (elsewhere.includes(id)) await tell(id);
  }
}

/** Announcements may get lost. One process at a time looks after the watchers in Redis, each after its own. */
async function sweep(): Promise<void> {
  const local = localWatchers();
  if (local.size > 0) await tellOfEnded([...local.keys()]);
  const isMine = await store().set(keys.sweep(), '1', 'PX', SWEEP_MS - 500, 'NX');
  if (isMine === null) return;
  const at = now().getTime();
  await store().zremrangebyscore(keys.watched(), 0, at);
  for (const id of await endedAmong(await store().zrange(keys.watched(), '0', '-1'))) await tell(id);
}

/** Once: there is no second end. */
function tellHere(generationId: string): void {
  const local = localWatchers();
  const watchers = local.get(generationId);
  local.delete(generationId);
  for (const onEnd of watchers ?? []) onEnd();
}

async function tell(generationId: string): Promise<void> {
  const message = { jsonrpc: '2.0', method: 'notifications/resources/updated', params: { uri: uriOf(generationId) } };
  await store().eval(
    TELL,
    2,
    keys.watchers(generationId),
    keys.watched(),
    generationId,
    JSON.stringify(message),
    keys.prefix(),
    String(MCP_EVENTS_MAX),
    String(MCP_EVENTS_MS),
    newsChannel(),
  );
}

/** What fails now is tried again with the next announcement, or the next sweep. */
async function quietly(work: () => Promise<void>): Promise<void> {
  await work().catch((error: Error) =>
    logger.debug({ error: error.message }, 'watched generations were not looked at'),
  );
}
