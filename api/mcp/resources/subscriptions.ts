import { EventEmitter } from 'node:events';
import { filterCompleted } from '../../../shared/domain/generations/read.ts';
import { now } from '../../../shared/lib/clock.ts';
import { logger } from '../../../shared/lib/logger.ts';
import { perService } from '../../../shared/lib/serviceScope.ts';
import { onGenerationUpdates } from '../../../shared/queues/generationUpdates.ts';
import { GENERATION_DEADLINE_MS, MCP_EVENTS_MAX, MCP_EVENT_RETENTION_MS } from '../../../shared/spec/limits.ts';
import { eventsChannel, mcpKeys, mcpRedis, withMcpRedis } from '../redis.ts';
import { buildGenerationUri } from './generationUri.ts';
import { MINUTE_MS } from '../../../shared/spec/durations.ts';

/**
 * Notifies sessions and stateless streams when a generation that they are subscribed to ends. Subscriptions of sessions
 * are stored in Redis, so that any process can notify them, with or without an open stream: one script removes the
 * subscriptions and appends the message to each session's events, which makes it exactly once.
 */

/** Longer than the deadline of any generation: every generation has ended before its subscriptions expire. */
const SUBSCRIPTION_TTL_MS = GENERATION_DEADLINE_MS.video + 10 * MINUTE_MS;
/** Interval of the check for generations whose end was not published. */
const SUBSCRIPTION_SWEEP_INTERVAL_MS = 5_000;

/**
 * Keys: the generation's subscribers, all subscribed generations, then session and events of each session to notify.
 * Subscribers that are not named here, because they are new, keep the generation in the set for the next run.
 */
const NOTIFY_SCRIPT = `
  for index = 6, #ARGV do
    local session, events = KEYS[2 * index - 9], KEYS[2 * index - 8]
    if redis.call('SREM', KEYS[1], ARGV[index]) == 1 and redis.call('EXISTS', session) == 1 then
      redis.call('XADD', events, 'MAXLEN', '~', ARGV[3], '*', 'message', ARGV[2])
      redis.call('PEXPIRE', events, ARGV[4])
      redis.call('PUBLISH', ARGV[5], ARGV[index])
    end
  end
  if redis.call('EXISTS', KEYS[1]) == 0 then redis.call('ZREM', KEYS[2], ARGV[1]) end
  return 1`;

/** Emits the id of a generation that has ended, to the stateless streams that this process serves. */
const localSubscribers = perService(() => new EventEmitter().setMaxListeners(0));

/** Subscribes a session to the end of a generation. If it has ended already, the session is notified immediately. */
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
  // Checked after subscribing: an end in between is reported twice rather than never.
  for (const completedId of await filterCompleted([generationId]))
    await withMcpRedis(() => notifySessions(completedId));
}

export async function unsubscribeSession(sessionId: string, generationId: string): Promise<void> {
  await withMcpRedis((redis) => redis.srem(mcpKeys.subscribers(generationId), sessionId));
}

/** Calls back once when a generation ends. @returns a function that unsubscribes. */
export function subscribeLocal(generationId: string, onEnd: () => void): () => void {
  const local = localSubscribers();
  local.once(generationId, onEnd);
  return () => void local.off(generationId, onEnd);
}

/** Starts listening for updates, and the sweep. Called once per process. @returns a function that stops both. */
export function startNotifier(): () => void {
  onGenerationUpdates((ids) => void withLoggedErrors(() => handleGenerationUpdates(ids)));
  const sweepTimer = setInterval(() => void withLoggedErrors(sweepSubscriptions), SUBSCRIPTION_SWEEP_INTERVAL_MS);
  return () => {
    onGenerationUpdates(() => {});
    clearInterval(sweepTimer);
  };
}

/** Notifies the subscribers of updated generations. Most have none, so Redis is asked before the database. */
async function handleGenerationUpdates(ids: string[]): Promise<void> {
  const local = localSubscribers();
  const pipeline = mcpRedis().pipeline();
  for (const id of ids) pipeline.exists(mcpKeys.subscribers(id));
  const counts = await pipeline.exec().catch(() => null);
  const isSubscribed = (id: string, index: number) => local.listenerCount(id) > 0 || counts?.[index]?.[1] === 1;
  const completed = await filterCompleted(ids.filter(isSubscribed));
  for (const id of completed) local.emit(id);
  for (const id of completed) await notifySessions(id);
}

/** Finds ended generations whose update was lost. Each process checks its own subscribers, and one those in Redis. */
async function sweepSubscriptions(): Promise<void> {
  const local = localSubscribers();
  for (const id of await filterCompleted(local.eventNames() as string[])) local.emit(id);
  const acquired = await mcpRedis().set(mcpKeys.sweepLock(), '1', 'PX', SUBSCRIPTION_SWEEP_INTERVAL_MS - 500, 'NX');
  if (acquired === null) return;
  const at = now().getTime();
  await mcpRedis().zremrangebyscore(mcpKeys.subscribedGenerations(), 0, at);
  for (const id of await filterCompleted(await mcpRedis().zrange(mcpKeys.subscribedGenerations(), '0', '-1')))
    await notifySessions(id);
}

async function notifySessions(generationId: string): Promise<void> {
  const message = {
    jsonrpc: '2.0',
    method: 'notifications/resources/updated',
    params: { uri: buildGenerationUri(generationId) },
  };
  const subscribers = mcpKeys.subscribers(generationId);
  // Read first, because a script must declare every key that it uses.
  const sessionIds = await mcpRedis().smembers(subscribers);
  const keys = [
    subscribers,
    mcpKeys.subscribedGenerations(),
    ...sessionIds.flatMap((id) => [mcpKeys.session(id), mcpKeys.events(id)]),
  ];
  await mcpRedis().eval(
    NOTIFY_SCRIPT,
    keys.length,
    ...keys,
    generationId,
    JSON.stringify(message),
    String(MCP_EVENTS_MAX),
    String(MCP_EVENT_RETENTION_MS),
    eventsChannel(),
    ...sessionIds,
  );
}

/** Logs a failure. The next update or sweep retries. */
async function withLoggedErrors(work: () => Promise<void>): Promise<void> {
  await work().catch((error: unknown) => logger.debug({ err: error }, 'subscription check failed; sweep will retry'));
}
