import pLimit from 'p-limit';
import {
  type UpstreamRoute,
  type UpstreamResult,
  FAILURE_MESSAGES,
  UpstreamError,
  getUpstream,
  type UpstreamProgress,
} from '../../../gateways/upstreams/index.ts';
import { now } from '../../../lib/clock.ts';
import { config } from '../../../lib/config.ts';
import { trackInFlight } from '../../../lib/drain.ts';
import { logger } from '../../../lib/logger.ts';
import { perService } from '../../../lib/serviceScope.ts';
import type { GenerationKey } from '../../../queues/catalog.ts';
import { enqueuePoll } from '../../../queues/enqueue.ts';
import { publishGenerationUpdate } from '../../../queues/generationUpdates.ts';
import { cancelAtUpstream } from './cancelAtUpstream.ts';
import { onSlotFreed } from './dispatchLoop.ts';
import { finalizeGeneration } from './finalize.ts';
import { getGenerationRoute } from './generationRoute.ts';
import { withRefreshThrottle } from './lease.ts';
import { acquirePoll, acquireReadRefresh } from './refreshThrottle.ts';
import type { ClaimedGeneration } from './step.ts';
import { MINUTE_MS } from '../../../spec/durations.ts';

/** Time since the submission from which "unknown to the upstream" means lost: at first it may not be visible everywhere. */
const LOST_AFTER_MS = MINUTE_MS;

/**
 * Age up to which polls ask for the result first, where the upstream has one without a status. Later they ask for the
 * status: most polls of a long run find it running.
 */
const SHORT_RUN_MS = MINUTE_MS;

const pollSlots = perService(() => pLimit(config.UPSTREAM_CONCURRENCY));
const readSlots = perService(() => pLimit(config.UPSTREAM_CONCURRENCY));

/**
 * Polls the upstreams of submitted generations and finalizes those that are done. This is the only path by which an
 * asynchronous upstream's result is read, for readers and for scheduled polls. The process that acquires the refresh
 * throttle polls and enqueues the next poll.
 *
 * Resolves when all were polled, so that a slow download does not block the queue. Each generation keeps its slot until
 * its output is stored, which bounds the number of downloads.
 */
export async function pollGenerations(generations: GenerationKey[], trigger: 'read' | 'poll'): Promise<void> {
  const slots = trigger === 'read' ? readSlots() : pollSlots();
  const acquire = trigger === 'read' ? acquireReadRefresh : acquirePoll;
  await Promise.all(
    generations.map(
      (key) =>
        new Promise<void>((resolvePolled, reject) => {
          trackInFlight(
            slots(async () => {
              const generation = await acquire(key);
              const progress = generation === undefined ? undefined : await pollAndCancel(generation);
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

/**
 * Polls a generation, and cancels one that its owner asked to cancel while the upstream says that it has not started. A
 * run that has started is not disturbed: the upstream would charge for it, and its output is usable.
 */
async function pollAndCancel(generation: ClaimedGeneration): Promise<UpstreamProgress> {
  const progress = await pollUpstream(generation);
  if (generation.cancel_requested_at === null || progress.state !== 'running' || progress.isWaiting !== true)
    return progress;
  const { uuid, upstream_handle: handle } = generation;
  const route = (await getGenerationRoute(generation)) as UpstreamRoute;
  const cancellation = await cancelAtUpstream(uuid, route, handle);
  return cancellation === 'did_not_run' ? { state: 'failed', message: FAILURE_MESSAGES.canceledByOwner } : progress;
}

/** Reads the progress of a generation. A failed request counts as running: the next poll asks again. */
async function pollUpstream(generation: ClaimedGeneration): Promise<UpstreamProgress> {
  try {
    const route = await getGenerationRoute(generation);
    if (route === undefined)
      throw new UpstreamError('unavailable', `upstream ${generation.upstream} is no longer configured`);
    return await getUpstream(route).poll(generation.upstream_handle, { mayHaveEnded: mayHaveEnded(generation) });
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    const isNotFound = error.fault === 'gone';
    if (isNotFound && isLongAgo(generation.submitted_at ?? generation.created_at, LOST_AFTER_MS))
      return { state: 'failed', message: 'The model lost this generation.' };
    logger[isNotFound ? 'info' : 'warn']({ err: error, generationId: generation.uuid }, 'poll failed; will retry');
    return { state: 'running' };
  }
}

/** Returns false also for a generation that is to be canceled: only a status says that it has not started. */
function mayHaveEnded(generation: ClaimedGeneration): boolean {
  return generation.cancel_requested_at === null && !isLongAgo(generation.created_at, SHORT_RUN_MS);
}

function scheduleNextPoll(generation: ClaimedGeneration): void {
  publishGenerationUpdate(generation.uuid);
  // Whole seconds, so that generations of about the same age share a job; rounded up, so that none is polled early.
  void enqueuePoll(generation, Math.ceil(generation.poll_delay_ms / 1_000) * 1_000);
}

/** Finalizes a generation, or schedules another poll if that fails. Never rejects. */
async function finalizeOrRetry(generation: ClaimedGeneration, result: UpstreamResult): Promise<void> {
  const { uuid, upstream } = generation;
  try {
    const route = (await getGenerationRoute(generation)) as UpstreamRoute;
    await withRefreshThrottle(generation, () => finalizeGeneration(generation, route, result));
    await onSlotFreed(upstream);
  } catch (err) {
    logger.warn({ err, generationId: uuid }, 'finalize failed; will poll again');
    scheduleNextPoll(generation);
  }
}

function isLongAgo(time: Date, milliseconds: number): boolean {
  return now().getTime() - time.getTime() > milliseconds;
}
