import {
  FAILURE_MESSAGES,
  getUpstream,
  UpstreamError,
  type UpstreamProgress,
  type UpstreamRoute,
} from '../../../gateways/upstreams/index.ts';
import { addMilliseconds, now } from '../../../lib/clock.ts';
import { prepared } from '../../../lib/database/preparedStatements.ts';
import { logger } from '../../../lib/logger.ts';
import type { GenerationKey, SubmittedGeneration } from '../../../queues/catalog.ts';
import { enqueuePoll } from '../../../queues/enqueue.ts';
import { publishGenerationUpdate } from '../../../queues/generationUpdates.ts';
import { MINUTE_MS } from '../../../spec/durations.ts';
import { REFRESH_INTERVAL_MS } from '../../../spec/limits.ts';
import { cancelAtUpstream } from './cancelAtUpstream.ts';
import { passOutput } from './collect.ts';
import { onSlotFreed } from './dispatch.ts';
import { endFailedRun } from './failOver.ts';
import { getGenerationRoute } from './generationRoute.ts';
import { getPollDelayBindings, POLL_DELAY } from './pollPace.ts';
import {
  batchStep,
  CLAIMED_COLUMNS,
  type ClaimedGeneration,
  CLOCK_SKEW_MS,
  SWEEP_GRACE_MS,
  toWantedBindings,
  WANTED_GENERATIONS,
} from './step.ts';
import { getUpstreamSlots } from './upstreamSlots.ts';

/**
 * Time since the submission from which "unknown to the upstream" means lost: at first it may not be visible everywhere.
 */
const LOST_AFTER_MS = MINUTE_MS;

/**
 * Age up to which polls ask for the result first, where the upstream has one without a status. Later they ask for the
 * status: most polls of a long run find it running.
 */
const SHORT_RUN_MS = MINUTE_MS;

/**
 * Polls the upstreams of submitted generations, within the slots of each. This is the only path by which an
 * asynchronous upstream's progress is read, for readers and for scheduled polls. The process that acquires the refresh
 * throttle polls, and enqueues what follows: the next poll, or the collection of the output.
 */
export function pollGenerations(generations: SubmittedGeneration[]): void {
  for (const generation of generations) {
    const { uuid: generationId, upstream, isAwaited } = generation;
    getUpstreamSlots('poll', upstream).add({ generationId, isAwaited, run: () => pollGeneration(generation) });
  }
}

async function pollGeneration(key: SubmittedGeneration): Promise<void> {
  const generation = await (key.isAwaited === true ? acquireReadRefresh : acquirePoll)(key);
  if (generation === undefined) return;
  const progress = await pollAndCancel(generation);
  if (progress.state === 'running') return scheduleNextPoll(generation);
  const { uuid, upstream } = generation;
  try {
    if (progress.state === 'succeeded')
      return await passOutput({ ...key, upstream }, { result: progress, run: generation.failed_over_at });
    await endFailedRun(generation, progress.message);
    await onSlotFreed(upstream);
  } catch (err) {
    logger.warn({ err, generationId: uuid }, 'end at the upstream not recorded; will poll again');
    scheduleNextPoll(generation);
  }
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

function isLongAgo(time: Date, milliseconds: number): boolean {
  return now().getTime() - time.getTime() > milliseconds;
}

/**
 * Acquires the right to poll a generation's upstream, or returns undefined if another process polled it less than
 * 2 seconds ago. Reads and polls of all processes share this throttle. The process that acquires it enqueues the next
 * poll, `poll_delay_ms` later; a poll that comes before `next_poll_at` is rejected, which ends duplicate poll chains.
 */
function createRefreshThrottle(name: string, isDue: string) {
  return batchStep(
    prepared(
      name,
      `WITH open AS (
         SELECT g.uuid, g.account_id, ${POLL_DELAY} AS delay FROM ${WANTED_GENERATIONS}
          WHERE g.status = 'queued' AND g.upstream_handle IS NOT NULL AND g.upstream_output IS NULL
            AND (g.leased_until IS NULL OR g.leased_until <= :now) AND (g.polled_at IS NULL OR g.polled_at <= :before) ${isDue}
          ORDER BY g.uuid FOR NO KEY UPDATE OF g SKIP LOCKED
       )
       UPDATE generations g
          SET polled_at = :now, next_poll_at = cast(:now AS timestamptz) + open.delay,
              next_attempt_at = cast(:now AS timestamptz) + open.delay + interval '${SWEEP_GRACE_MS} milliseconds'
         FROM open WHERE g.uuid = open.uuid AND g.account_id = open.account_id
       RETURNING ${CLAIMED_COLUMNS}, cast(1000 * extract(epoch FROM open.delay) AS int) AS poll_delay_ms`,
    ),
    (generations: readonly GenerationKey[], at) => ({
      ...toWantedBindings(generations),
      before: addMilliseconds(at, -REFRESH_INTERVAL_MS),
      ...getPollDelayBindings(),
    }),
  );
}

const acquireReadRefresh = createRefreshThrottle('acquire_read_refresh', '');
const acquirePoll = createRefreshThrottle(
  'acquire_poll',
  `AND (g.next_poll_at IS NULL
        OR g.next_poll_at <= cast(:now AS timestamptz) + interval '${CLOCK_SKEW_MS} milliseconds')`,
);
