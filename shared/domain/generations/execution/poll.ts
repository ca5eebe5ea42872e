import pLimit from 'p-limit';
import {
  type UpstreamRoute,
  type UpstreamResult,
  UpstreamError,
  getUpstream,
  type UpstreamProgress,
} from '../../../gateways/upstreams/index.ts';
import { now } from '../../../lib/clock.ts';
import { config } from '../../../lib/config.ts';
import { logger } from '../../../lib/logger.ts';
import { perService } from '../../../lib/serviceScope.ts';
import { publishGenerationUpdate } from '../../../queues/generationUpdates.ts';
import { enqueueGeneration } from '../../../queues/enqueue.ts';
import { finalizeGeneration, getGenerationRoute } from './finalize.ts';
import { onSlotFreed } from './dispatchLoop.ts';
import { withRefreshThrottle } from './lease.ts';
import { acquirePoll, acquireReadRefresh } from './refreshThrottle.ts';
import type { ClaimedGeneration } from './transition.ts';
import { trackInFlight } from '../../../lib/drain.ts';

/** An upstream that has just taken a job may not know it yet everywhere; one that still doesn't has lost it. */
const LOST_AFTER_MS = 60_000;

const pollSlots = perService(() => pLimit(config.UPSTREAM_CONCURRENCY));
const readSlots = perService(() => pLimit(config.UPSTREAM_CONCURRENCY));

/**
 * Looks how submitted generations are getting on, and ends those that are done: the one way an upstream's answer gets
 * in. Asked for by reads and by the worker's own polls; whoever passes the gate looks, and rings for the next look.
 *
 * Resolves when all have been looked at, so that a slow download holds no job of the queue up. Each keeps its slot
 * until its output is collected: no more is begun than can be carried at a time, and the rest waits in the queue.
 */
export async function pollGenerations(generationIds: string[], trigger: 'read' | 'poll'): Promise<void> {
  const slots = trigger === 'read' ? readSlots() : pollSlots();
  const acquire = trigger === 'read' ? acquireReadRefresh : acquirePoll;
  await Promise.all(
    generationIds.map(
      (uuid) =>
        new Promise<void>((resolvePolled, reject) => {
          trackInFlight(
            slots(async () => {
              const generation = await acquire(uuid);
              const progress = generation === undefined ? undefined : await pollUpstream(generation);
              resolvePolled();
              if (generation === undefined || progress === undefined) return;
              if (progress.state === 'running') scheduleNextPoll(generation);
              else await finalizeOrRetry(generation, progress);
            }).catch(reject),
          );
        }),
    ),
  );
}

/** What cannot be found out now counts as running: it is asked again. */
async function pollUpstream(generation: ClaimedGeneration): Promise<UpstreamProgress> {
  try {
    const route = getGenerationRoute(generation);
    if (route === undefined)
      throw new UpstreamError('unavailable', `${generation.upstream} is not configured any more`);
    return await getUpstream(route).check(generation.upstream_handle);
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    const isNotFound = error.fault === 'gone';
    if (isNotFound && isOlderThan(generation, LOST_AFTER_MS))
      return { state: 'failed', message: 'The model lost this job.' };
    logger[isNotFound ? 'info' : 'warn'](
      { generationId: generation.uuid, error: error.message },
      'not refreshed; will look again',
    );
    return { state: 'running' };
  }
}

function scheduleNextPoll(generation: ClaimedGeneration): void {
  publishGenerationUpdate(generation.uuid);
  // Whole seconds, so that jobs of about the same age share a ring; up, so that none comes before it is due.
  void enqueueGeneration('generation.poll', generation.uuid, Math.ceil(generation.poll_delay_ms / 1_000) * 1_000);
}

/** Never rejects: what could not be ended now is looked at again. */
async function finalizeOrRetry(generation: ClaimedGeneration, result: UpstreamResult): Promise<void> {
  const { uuid, upstream } = generation;
  try {
    await withRefreshThrottle(generation, () =>
      finalizeGeneration(generation, getGenerationRoute(generation) as UpstreamRoute, result),
    );
    await onSlotFreed(upstream);
  } catch (error) {
    logger.warn({ generationId: uuid, error: (error as Error).message }, 'not ended; will look again');
    scheduleNextPoll(generation);
  }
}

function isOlderThan(generation: ClaimedGeneration, milliseconds: number): boolean {
  return now().getTime() - generation.created_at.getTime() > milliseconds;
}
