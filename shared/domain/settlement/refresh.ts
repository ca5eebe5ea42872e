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
import { type Job, passGateToPoll, passGateToRead, pollDelayMs, whileHoldingGate } from './steps.ts';

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
 */
export async function refresh(generationIds: string[], askedBy: 'read' | 'poll'): Promise<void> {
  const slots = askedBy === 'read' ? readSlots : pollSlots;
  const passGate = askedBy === 'read' ? passGateToRead : passGateToPoll;
  await Promise.all(
    generationIds.map((uuid) =>
      slots(async () => {
        const job = await passGate(uuid);
        if (job === undefined) return;
        const ended = await look(job);
        void announce(uuid);
        if (!ended) void ring('generation.poll', uuid, pollDelayMs(job.created_at));
      }),
    ),
  );
}

/** @returns whether the job has ended. */
async function look(job: Job): Promise<boolean> {
  const { uuid, model } = job;
  try {
    const progress = await upstreamOf(model).check(job.upstream_handle);
    if (progress.state === 'running') return false;
    if (progress.state === 'failed') await fail({ uuid, message: progress.message });
    else await collect(job, progress);
    return true;
  } catch (error) {
    const gone = error instanceof UpstreamError && error.fault === 'gone';
    const lost = gone && isOlderThan(job, GONE_AFTER_MS);
    if (lost || error instanceof UnusableOutput) {
      logger.error({ generationId: uuid, error: error.message }, 'the upstream did not deliver');
      await fail({ uuid, message: lost ? 'The model lost this job.' : 'The model returned no usable output.' });
      return true;
    }
    logger[gone ? 'info' : 'warn'](
      { generationId: uuid, error: (error as Error).message },
      'not refreshed; will look again',
    );
    return false;
  }
}

async function collect(job: Job, progress: UpstreamProgress & { state: 'succeeded' }): Promise<void> {
  const { uuid, model } = job;
  const { outputPath, thumbnailPath } = await whileHoldingGate(uuid, () =>
    collectOutput(progress.outputUrl, modelBySlug(model).kind, uuid, job.media_token as string),
  );
  await succeed({
    uuid,
    output_path: outputPath,
    thumbnail_path: thumbnailPath,
    is_watermarked: progress.isWatermarked,
  });
}

function isOlderThan(job: Job, milliseconds: number): boolean {
  return now().getTime() - job.created_at.getTime() > milliseconds;
}
