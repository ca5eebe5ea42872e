import { logger } from '../lib/logger.ts';
import { perService } from '../lib/serviceScope.ts';
import { getQueuePrefix } from './catalog.ts';
import { getProducer } from './enqueue.ts';

/**
 * Upstreams whose call-backs arrive, in Redis. Polls of their generations are less frequent. A key that expires or is
 * lost makes them as frequent as without call-backs, so a wrong one costs time only.
 */

/** Time after its last call-back for which an upstream counts as one that sends them. */
const ACTIVE_MS = 60_000;
/** Interval at which a process writes a key, and reads those of others. */
const SYNC_INTERVAL_MS = 1_000;
/** Age until which what a process has read is used. */
const FRESH_MS = 10_000;

/** Keys of one hash slot, so that one command reads all of them. */
const activityKey = (upstream: string) => `${getQueuePrefix('poll')}:callbacks:${upstream}`;

const state = perService(() => ({
  recordedAt: new Map<string, number>(),
  active: new Set<string>(),
  requestedAt: Number.NEGATIVE_INFINITY,
  readAt: Number.NEGATIVE_INFINITY,
}));

/** Records that a call-back of an upstream has arrived. Never rejects. */
export function recordCallbackActivity(upstream: string): void {
  const { recordedAt } = state();
  const at = performance.now();
  if (at - (recordedAt.get(upstream) ?? Number.NEGATIVE_INFINITY) < SYNC_INTERVAL_MS) return;
  recordedAt.set(upstream, at);
  getProducer()
    .set(activityKey(upstream), '1', 'PX', ACTIVE_MS)
    .catch((err: unknown) => logger.debug({ err, upstream }, 'call-back not recorded'));
}

/**
 * Returns those of these upstreams whose call-backs arrive, as this process last read it. Waits for nothing: none is
 * returned until Redis has answered, or if its answer is old.
 */
export function findActiveCallbacks(upstreams: readonly string[]): ReadonlySet<string> {
  const current = state();
  const at = performance.now();
  if (upstreams.length > 0 && at - current.requestedAt >= SYNC_INTERVAL_MS) {
    current.requestedAt = at;
    void readActivity(upstreams);
  }
  return at - current.readAt > FRESH_MS ? NONE : current.active;
}

async function readActivity(upstreams: readonly string[]): Promise<void> {
  const current = state();
  const values = await getProducer()
    .mget(...upstreams.map(activityKey))
    .catch(() => []);
  current.active = new Set(upstreams.filter((_, index) => values[index] === '1'));
  current.readAt = performance.now();
}

const NONE: ReadonlySet<string> = new Set();
