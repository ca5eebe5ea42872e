import pLimit from 'p-limit';
import {
  type Route,
  type UpstreamEnd,
  UpstreamError,
  upstreamOf,
  type UpstreamProgress,
} from '../../gateways/upstreams/index.ts';
import { now } from '../../lib/clock.ts';
import { config } from '../../lib/config.ts';
import { logger } from '../../lib/logger.ts';
import { perService } from '../../lib/serviceScope.ts';
import { announce } from '../../queues/announcements.ts';
import { ring } from '../../queues/enqueue.ts';
import { deliver, routeOf } from './deliver.ts';
import { makeRoom } from './handOut.ts';
import { whileHoldingGate } from './hold.ts';
import { passGateToPoll, passGateToRead } from './gate.ts';
import type { Job } from './steps.ts';
import { keepTrackOf } from './underWay.ts';

/** An upstream that has just taken a job may not know it yet everywhere; one that still doesn't has lost it. */
const GONE_AFTER_MS = 60_000;

const pollSlots = perService(() => pLimit(config.UPSTREAM_CONCURRENCY));
const readSlots = perService(() => pLimit(config.UPSTREAM_CONCURRENCY));

/**
 * Looks how submitted generations are getting on, and ends those that are done: the one way an upstream's answer gets
 * in. Asked for by reads and by the worker's own polls; whoever passes the gate looks, and rings for the next look.
 *
 * Resolves when all have been looked at, so that a slow download holds no job of the queue up. Each keeps its slot
 * until its output is collected: no more is begun than can be carried at a time, and the rest waits in the queue.
 */
export async function refresh(generationIds: string[], askedBy: 'read' | 'poll'): Promise<void> {
  const slots = askedBy === 'read' ? readSlots() : pollSlots();
  const passGate = askedBy === 'read' ? passGateToRead : passGateToPoll;
  await Promise.all(
    generationIds.map(
      (uuid) =>
        new Promise<void>((looked, failed) => {
          keepTrackOf(
            slots(async () => {
              const job = await passGate(uuid);
              const progress = job === undefined ? undefined : await check(job);
              looked();
              if (job === undefined || progress === undefined) return;
              if (progress.state === 'running') goOn(job);
              else await end(job, progress);
            }).catch(failed),
          );
        }),
    ),
  );
}

/** What cannot be found out now counts as running: it is asked again. */
async function check(job: Job): Promise<UpstreamProgress> {
  try {
    const route = routeOf(job);
    if (route === undefined) throw new UpstreamError('unavailable', `${job.upstream} is not configured any more`);
    return await upstreamOf(route).check(job.upstream_handle);
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    const isGone = error.fault === 'gone';
    if (isGone && isOlderThan(job, GONE_AFTER_MS)) return { state: 'failed', message: 'The model lost this job.' };
    logger[isGone ? 'info' : 'warn'](
      { generationId: job.uuid, error: error.message },
      'not refreshed; will look again',
    );
    return { state: 'running' };
  }
}

function goOn(job: Job): void {
  announce(job.uuid);
  // Whole seconds, so that jobs of about the same age share a ring; up, so that none comes before it is due.
  void ring('generation.poll', job.uuid, Math.ceil(job.poll_delay_ms / 1_000) * 1_000);
}

/** Never rejects: what could not be ended now is looked at again. */
async function end(job: Job, end: UpstreamEnd): Promise<void> {
  const { uuid, upstream } = job;
  try {
    await whileHoldingGate(job, () => deliver(job, routeOf(job) as Route, end));
    await makeRoom(upstream);
  } catch (error) {
    logger.warn({ generationId: uuid, error: (error as Error).message }, 'not ended; will look again');
    goOn(job);
  }
}

function isOlderThan(job: Job, milliseconds: number): boolean {
  return now().getTime() - job.created_at.getTime() > milliseconds;
}
