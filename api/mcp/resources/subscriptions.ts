import { filterCompleted } from '../../../shared/domain/generations/read.ts';
import { now } from '../../../shared/lib/clock.ts';
import { logger } from '../../../shared/lib/logger.ts';
import { onGenerationUpdates } from '../../../shared/queues/generationUpdates.ts';
import { perService } from '../../../shared/lib/serviceScope.ts';
import { GENERATION_DEADLINE_MS, MCP_EVENTS_MAX, MCP_EVENT_RETENTION_MS } from '../../../shared/spec/limits.ts';
import { withMcpRedis, mcpKeys, eventsChannel, mcpRedis } from '../redis.ts';
import { buildGenerationUri } from './generationUri.ts';

/**
 * Tells sessions, and streams of the stateless era, of the end of generations that they watch. Watchers of sessions are
 * kept in Redis, so that it matters neither which process hears of an end nor whether one serves the session just then:
 * the message goes into the session's log, once, in the same step that takes the watchers off.
 */

/** Nothing is under way for longer than this. */
const SUBSCRIPTION_TTL_MS = GENERATION_DEADLINE_MS.video + 10 * 60_000;
/** How often those are looked after of whose end no announcement came. */
const SUBSCRIPTION_SWEEP_INTERVAL_MS = 5_000;

const NOTIFY_SCRIPT = `
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
const localSubscribers = perService(() => new Map<string, Set<() => void>>());

/** Has a session told once when a generation has ended; one that has ended already is told of at once. */
export async function subscribeSession(sessionId: string, generationId: string): Promise<void> {
  const until = now().getTime() + SUBSCRIPTION_TTL_MS;
  await withMcpRedis((redis) =>
    redis
      .multi()
      .sadd(mcpKeys.subscribers(generationId), sessionId)
      .pexpire(mcpKeys.subscribers(generationId), SUBSCRIPTION_TTL_MS)
      .zadd(mcpKeys.subscribedGenerations(), until, generationId)
      .exec(),
  );
  // Looked at only now: what ends in between is heard of twice rather than never.
  for (const completedId of await filterCompleted([generationId]))
    await withMcpRedis(() => notifySessions(completedId));
}

export async function unsubscribeSession(sessionId: string, generationId: string): Promise<void> {
  await withMcpRedis((redis) => redis.srem(mcpKeys.subscribers(generationId), sessionId));
}

/** Calls back when a generation has ended. @returns what ends the watch. */
export function subscribeLocal(generationId: string, onEnd: () => void): () => void {
  const local = localSubscribers();
  const subscribers = local.get(generationId) ?? new Set();
  local.set(generationId, subscribers);
  subscribers.add(onEnd);
  return () => {
    subscribers.delete(onEnd);
    if (subscribers.size === 0 && local.get(generationId) === subscribers) local.delete(generationId);
  };
}

/** Tells those in this process at once of what has ended before they began to watch. */
export async function notifyLocalCompleted(generationIds: readonly string[]): Promise<void> {
  for (const id of await filterCompleted(generationIds)) notifyLocal(id);
}

/** Begins to listen, once in a process. @returns what ends it. */
export function startNotifier(): () => void {
  onGenerationUpdates((ids) => void withLoggedErrors(() => handleGenerationUpdates(ids)));
  const sweeping = setInterval(() => void withLoggedErrors(sweepSubscriptions), SUBSCRIPTION_SWEEP_INTERVAL_MS);
  return () => {
    onGenerationUpdates(() => {});
    clearInterval(sweeping);
  };
}

/** A generation was looked at. Most are watched by nobody, which is found out without the database. */
async function handleGenerationUpdates(ids: string[]): Promise<void> {
  const localIds = ids.filter((id) => localSubscribers().has(id));
  const pipeline = mcpRedis().pipeline();
  for (const id of ids) pipeline.exists(mcpKeys.subscribers(id));
  const counts = await pipeline.exec().catch(() => null);
  const subscribedIds = ids.filter((_, index) => counts?.[index]?.[1] === 1);
  for (const id of await filterCompleted([...new Set([...localIds, ...subscribedIds])])) {
    notifyLocal(id);
    if (subscribedIds.includes(id)) await notifySessions(id);
  }
}

/** Announcements may get lost. One process at a time looks after the watchers in Redis, each after its own. */
async function sweepSubscriptions(): Promise<void> {
  const local = localSubscribers();
  if (local.size > 0) await notifyLocalCompleted([...local.keys()]);
  const isMine = await mcpRedis().set(mcpKeys.sweepLock(), '1', 'PX', SUBSCRIPTION_SWEEP_INTERVAL_MS - 500, 'NX');
  if (isMine === null) return;
  const at = now().getTime();
  await mcpRedis().zremrangebyscore(mcpKeys.subscribedGenerations(), 0, at);
  for (const id of await filterCompleted(await mcpRedis().zrange(mcpKeys.subscribedGenerations(), '0', '-1')))
    await notifySessions(id);
}

/** Once: there is no second end. */
function notifyLocal(generationId: string): void {
  const local = localSubscribers();
  const subscribers = local.get(generationId);
  local.delete(generationId);
  for (const onEnd of subscribers ?? []) onEnd();
}

async function notifySessions(generationId: string): Promise<void> {
  const message = {
    jsonrpc: '2.0',
    method: 'notifications/resources/updated',
    params: { uri: buildGenerationUri(generationId) },
  };
  await mcpRedis().eval(
    NOTIFY_SCRIPT,
    2,
    mcpKeys.subscribers(generationId),
    mcpKeys.subscribedGenerations(),
    generationId,
    JSON.stringify(message),
    mcpKeys.prefix(),
    String(MCP_EVENTS_MAX),
    String(MCP_EVENT_RETENTION_MS),
    eventsChannel(),
  );
}

/** What fails now is tried again with the next announcement, or the next sweep. */
async function withLoggedErrors(work: () => Promise<void>): Promise<void> {
  await work().catch((error: Error) =>
    logger.debug({ error: error.message }, 'watched generations were not looked at'),
  );
}
