import { setTimeout } from 'node:timers/promises';
import pLimit from 'p-limit';
import { upstreamOf } from '../../gateways/upstreams/index.ts';
import { UpstreamError } from '../../gateways/upstreams/upstream.ts';
import { now } from '../../lib/clock.ts';
import { config } from '../../lib/config.ts';
import { isOutage } from '../../lib/db.ts';
import { logger } from '../../lib/logger.ts';
import { ring } from '../../queues/enqueue.ts';
import { modelBySlug } from '../../spec/catalog.ts';
import { REFRESH_INTERVAL_MS, UNKNOWN_SUBMITS_MAX } from '../../spec/limits.ts';
import { recordProbe } from '../modelHealth.ts';
import { fail } from './settle.ts';
import { claimSubmit, type Job, recordAccepted, returnJob } from './steps.ts';

const WRITE_ATTEMPTS = 10;

const slots = pLimit(config.UPSTREAM_CONCURRENCY);

/** Hands generations to their upstreams. Those that another worker has, or that need no submitting, are left alone. */
export async function dispatch(generationIds: string[]): Promise<void> {
  // A job is claimed only when there is a slot for it: the claim's lease is as long as a submit may take, not longer.
  await Promise.all(
    generationIds.map((uuid) =>
      slots(async () => {
        const job = await claimSubmit(uuid);
        if (job !== undefined) await submit(job);
      }),
    ),
  );
}

async function submit(job: Job): Promise<void> {
  const { uuid, model, prompt, params } = job;
  if (job.unknown_submits > UNKNOWN_SUBMITS_MAX) {
    logger.error({ generationId: uuid, submits: job.unknown_submits }, 'given up: nobody knows whether it runs');
    await fail({ uuid, message: 'The model did not confirm this job. Please try again.' });
    return;
  }
  try {
    const handle = await upstreamOf(model).submit({
      generationId: uuid,
      kind: modelBySlug(model).kind,
      prompt,
      params,
    });
    await persist(() => recordAccepted({ uuid, handle }));
    void ring('generation.poll', uuid, REFRESH_INTERVAL_MS);
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    await notAccepted(job, error);
  }
}

/** What an upstream has accepted is worth some patience with the database: forgotten, it would be submitted again. */
async function persist(write: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await write();
    } catch (error) {
      if (!isOutage(error) || attempt === WRITE_ATTEMPTS) throw error;
      await setTimeout(1_000);
    }
  }
}

async function notAccepted(job: Job, error: UpstreamError): Promise<void> {
  const { uuid, model, created_at: createdAt } = job;
  if (error.fault === 'refused') {
    await fail({ uuid, message: error.message });
    return;
  }
  const delayMs = retryDelayMs(createdAt);
  logger.warn({ generationId: uuid, fault: error.fault, error: error.message, delayMs }, 'not submitted');
  await returnJob(job, delayMs, error.fault === 'unknown' ? 'unknown' : 'not accepted');
  void ring('generation.dispatch', uuid, delayMs);
  // An upstream that answers, if only that it is busy, is there: its health is for the probes to judge.
  if (!error.wasAnswered) await recordProbe(model, error.message);
}

/** A quarter of the job's age, but at least 1 and at most 30 seconds. */
function retryDelayMs(createdAt: Date): number {
  const age = now().getTime() - createdAt.getTime();
  return Math.min(30_000, Math.max(1_000, Math.ceil(age / 4_000) * 1_000));
}
