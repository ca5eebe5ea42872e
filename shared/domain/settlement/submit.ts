import { setTimeout } from 'node:timers/promises';
import { discard, newIncomingFile } from '../../gateways/media/incoming.ts';
import { UnusableOutput } from '../../gateways/media/download.ts';
import {
  inputOf,
  type Route,
  type UpstreamEnd,
  UpstreamError,
  type UpstreamHandle,
  upstreamOf,
} from '../../gateways/upstreams/index.ts';
import { now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import { ring } from '../../queues/enqueue.ts';
import { REFRESH_INTERVAL_MS, UNKNOWN_SUBMITS_MAX } from '../../spec/limits.ts';
import { avoid, recordProbe } from '../modelHealth.ts';
import { deliver, type Insist, persist, routeOf } from './deliver.ts';
import { whileHoldingLease } from './hold.ts';
import { fail } from './settle.ts';
import { recordAccepted, returnJob } from './claim.ts';
import type { Job } from './steps.ts';
import { mayInsist } from './underWay.ts';

/** How long to wait before an output that could not be stored is stored again. */
const DELIVER_AGAIN_MS = 3_000;

/** Submits a job that this process has claimed. */
export async function submit(job: Job): Promise<void> {
  const { uuid } = job;
  if (job.unknown_submits > UNKNOWN_SUBMITS_MAX) {
    logger.error({ generationId: uuid, submits: job.unknown_submits }, 'given up: nobody knows whether it runs');
    await fail({ uuid, message: 'The model did not confirm this job. Please try again.' });
    return;
  }
  const route = routeOf(job);
  if (route === undefined) throw new Error(`There is no upstream called ${job.upstream} any more.`);
  try {
    await whileHoldingLease(job, () => submitTo(route, job));
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    await notAccepted(job, route, error);
  }
}

async function submitTo(route: Route, job: Job): Promise<void> {
  const { uuid } = job;
  const submission = await upstreamOf(route).submit({
    generationId: uuid,
    input: inputOf(route, { prompt: job.prompt, ...job.params }),
    deadlineAt: job.deadline_at,
    newFile: newIncomingFile,
  });
  if (submission.state === 'accepted') {
    await accepted(job, route, submission.handle);
  } else await deliverSurely(job, route, submission);
}

async function accepted(job: Job, route: Route, handle: UpstreamHandle): Promise<void> {
  const { uuid } = job;
  const receipt = { uuid, handle, upstream: route.upstream.name, upstream_model: route.modelId };
  if (await persist(job, () => recordAccepted(receipt))) {
    logger.info({ generationId: uuid, upstream: route.upstream.name }, 'submitted');
    void ring('generation.poll', uuid, REFRESH_INTERVAL_MS);
    return;
  }
  logger.warn({ generationId: uuid }, 'accepted too late: the job is over, or runs elsewhere');
  await upstreamOf(route)
    .cancel(handle)
    .catch((error: unknown) => logger.info({ generationId: uuid, error: (error as Error).message }, 'not cancelled'));
}

/** What came with the submission's answer comes only once: it is kept until it is stored, or of no use any more. */
async function deliverSurely(job: Job, route: Route, end: UpstreamEnd): Promise<void> {
  const insist: Insist = async (work) => {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (error instanceof UnusableOutput || now() >= job.deadline_at || !mayInsist()) throw error;
        logger.warn({ generationId: job.uuid, error: (error as Error).message }, 'not delivered; will be tried again');
        await setTimeout(DELIVER_AGAIN_MS);
      }
    }
  };
  try {
    await deliver(job, route, end, insist);
  } finally {
    if (end.state === 'succeeded' && 'file' in end.output) await discard(end.output.file);
  }
}

async function notAccepted(job: Job, route: Route, error: UpstreamError): Promise<void> {
  const { uuid } = job;
  if (error.fault === 'refused') {
    await fail({ uuid, message: error.message });
    return;
  }
  const delayMs = Math.max(retryDelayMs(job.created_at), error.retryAfterMs);
  logger.warn({ generationId: uuid, fault: error.fault, error: error.message, delayMs }, 'not submitted');
  await persist(job, () => returnJob(job, delayMs, error.fault === 'unknown' ? 'unknown' : 'not accepted'));
  void ring('generation.dispatch', uuid, delayMs);
  // An upstream that answers, if only that it is busy, is there: its health is for the probes to judge. So it is where
  // answers take minutes: one that did not come in time says nothing about the next.
  if (error.isOurFault) await avoid(route, error.message);
  else if (!error.wasAnswered && !upstreamOf(route).isSynchronous)
    await recordProbe(route, error.message, 'submission');
}

/** A quarter of the job's age, but at least 1 and at most 30 seconds. */
function retryDelayMs(createdAt: Date): number {
  const age = now().getTime() - createdAt.getTime();
  return Math.min(30_000, Math.max(1_000, Math.ceil(age / 4_000) * 1_000));
}
