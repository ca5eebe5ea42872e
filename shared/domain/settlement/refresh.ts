import pLimit from 'p-limit';
import { collectOutput } from '../../gateways/media/collect.ts';
import { UnusableOutput } from '../../gateways/media/download.ts';
import { upstreamOf } from '../../gateways/upstreams/index.ts';
import { UpstreamError, type UpstreamProgress } from '../../gateways/upstreams/upstream.ts';
import { createBatcher } from '../../lib/batcher.ts';
import { now } from '../../lib/clock.ts';
import { config } from '../../lib/config.ts';
import { logger } from '../../lib/logger.ts';
import { announceRefreshed } from '../../queues/announcements.ts';
import { ring } from '../../queues/enqueue.ts';
import { modelBySlug } from '../../spec/catalog.ts';
import { fail, succeed } from './settle.ts';
import { type Job, passGateToPoll, passGateToRead, whileHoldingGate } from './steps.ts';

/** An upstream that has just taken a job may not know it yet everywhere; one that still doesn't has lost it. */
const GONE_AFTER_MS = 60_000;

const pollSlots = pLimit(config.UPSTREAM_CONCURRENCY);
const readSlots = pLimit(config.UPSTREAM_CONCURRENCY);

const announce = createBatcher<string, void>({
  maxItems: 64,
  maxInFlight: 1,
  run: async (uuids) => {
    await announceRefreshed(uuids);
    return [];
  },
});

/**
 * Looks how submitted generations are getting on, and ends those that are done: the one way an upstream's answer gets
 * in. Asked for by reads and by the worker's own polls; whoever passes the gate looks, and rings for the next look.
 *
 * Resolves when all have been looked at, so that a slow download holds no job of the queue up. Each keeps its slot
 * until its output is collected: no more is begun than can be carried at a time, and the rest waits in the queue.
 */
export async function refresh(generationIds: string[], askedBy: 'read' | 'poll'): Promise<void> {
  const slots = askedBy === 'read' ? readSlots : pollSlots;
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

const underWay = new Set<Promise<void>>();

function keepTrackOf(work: Promise<void>): void {
  underWay.add(work);
  void work.finally(() => underWay.delete(work));
}

/** Waits until nothing is being looked at or collected any more; for a process that stops. */
export async function allEnded(): Promise<void> {
  while (underWay.size > 0) await Promise.all(underWay);
}

/** What cannot be found out now counts as running: it is asked again. */
async function check(job: Job): Promise<UpstreamProgress> {
  try {
    return await upstreamOf(job.model).check(job.upstream_handle);
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
  void announce(job.uuid);
  // Whole seconds, so that jobs of about the same age share a ring; up, so that none comes before it is due.
  void ring('generation.poll', job.uuid, Math.ceil(job.poll_delay_ms / 1_000) * 1_000);
}

/** Never rejects: what could not be ended now is looked at again. */
async function end(job: Job, progress: Exclude<UpstreamProgress, { state: 'running' }>): Promise<void> {
  const { uuid } = job;
  try {
    if (progress.state === 'failed') await fail({ uuid, message: progress.message });
    else await whileHoldingGate(uuid, () => collect(job, progress));
    void announce(uuid);
  } catch (error) {
    logger.warn({ generationId: uuid, error: (error as Error).message }, 'not ended; will look again');
    goOn(job);
  }
}

async function collect(job: Job, progress: UpstreamProgress & { state: 'succeeded' }): Promise<void> {
  const { uuid, model } = job;
  try {
    const kind = modelBySlug(model).kind;
    const { outputPath, thumbnailPath } = await collectOutput(
      progress.outputUrl,
      kind,
      uuid,
      job.media_token as string,
    );
    await succeed({
      uuid,
      output_path: outputPath,
      thumbnail_path: thumbnailPath,
      is_watermarked: progress.isWatermarked,
    });
  } catch (error) {
    if (!(error instanceof UnusableOutput)) throw error;
    logger.error({ generationId: uuid, error: error.message }, 'the upstream did not deliver');
    await fail({ uuid, message: 'The model returned no usable output.' });
  }
}

function isOlderThan(job: Job, milliseconds: number): boolean {
  return now().getTime() - job.created_at.getTime() > milliseconds;
}
