import { setTimeout } from 'node:timers/promises';
import { deleteTempFile, newTempFile } from '../../../gateways/media/tempFiles.ts';
import { InvalidOutputError } from '../../../gateways/media/download.ts';
import {
  buildUpstreamInput,
  type UpstreamRoute,
  type UpstreamResult,
  UpstreamError,
  type UpstreamHandle,
  getUpstream,
} from '../../../gateways/upstreams/index.ts';
import { now } from '../../../lib/clock.ts';
import { logger } from '../../../lib/logger.ts';
import { enqueueGeneration } from '../../../queues/enqueue.ts';
import { REFRESH_INTERVAL_MS, UNCONFIRMED_SUBMITS_MAX } from '../../../spec/limits.ts';
import { openCircuit, recordProbe } from './modelHealth.ts';
import { finalizeGeneration, type RetryPolicy, retryDuringOutage, getGenerationRoute } from './finalize.ts';
import { withLease } from './lease.ts';
import { failGeneration } from './complete.ts';
import { recordAccepted, releaseGeneration } from './claim.ts';
import type { ClaimedGeneration } from './transition.ts';
import { mayRetry } from '../../../lib/drain.ts';

/** How long to wait before an output that could not be stored is stored again. */
const FINALIZE_RETRY_DELAY_MS = 3_000;

/** Submits a job that this process has claimed. */
export async function submitClaimed(generation: ClaimedGeneration): Promise<void> {
  const { uuid } = generation;
  if (generation.unconfirmed_submits > UNCONFIRMED_SUBMITS_MAX) {
    logger.error(
      { generationId: uuid, submits: generation.unconfirmed_submits },
      'given up: nobody knows whether it runs',
    );
    await failGeneration({ uuid, message: 'The model did not confirm this job. Please try again.' });
    return;
  }
  const route = getGenerationRoute(generation);
  if (route === undefined) throw new Error(`There is no upstream called ${generation.upstream} any more.`);
  try {
    await withLease(generation, () => submitToUpstream(route, generation));
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    await handleSubmitError(generation, route, error);
  }
}

async function submitToUpstream(route: UpstreamRoute, generation: ClaimedGeneration): Promise<void> {
  const { uuid } = generation;
  const result = await getUpstream(route).submit({
    generationId: uuid,
    input: buildUpstreamInput(route, { prompt: generation.prompt, ...generation.params }),
    deadlineAt: generation.deadline_at,
    newFile: newTempFile,
  });
  if (result.state === 'accepted') {
    await handleAccepted(generation, route, result.handle);
  } else await finalizeWithRetry(generation, route, result);
}

async function handleAccepted(
  generation: ClaimedGeneration,
  route: UpstreamRoute,
  handle: UpstreamHandle,
): Promise<void> {
  const { uuid } = generation;
  const acceptedSubmit = { uuid, handle, upstream: route.upstream.name, upstream_model: route.modelId };
  if (await retryDuringOutage(generation, () => recordAccepted(acceptedSubmit))) {
    logger.info({ generationId: uuid, upstream: route.upstream.name }, 'submitted');
    void enqueueGeneration('generation.poll', uuid, REFRESH_INTERVAL_MS);
    return;
  }
  logger.warn({ generationId: uuid }, 'accepted too late: the job is over, or runs elsewhere');
  await getUpstream(route)
    .cancel(handle)
    .catch((error: unknown) => logger.info({ generationId: uuid, error: (error as Error).message }, 'not cancelled'));
}

/** What came with the submission's answer comes only once: it is kept until it is stored, or of no use any more. */
async function finalizeWithRetry(
  generation: ClaimedGeneration,
  route: UpstreamRoute,
  result: UpstreamResult,
): Promise<void> {
  const retry: RetryPolicy = async (work) => {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (error instanceof InvalidOutputError || now() >= generation.deadline_at || !mayRetry()) throw error;
        logger.warn(
          { generationId: generation.uuid, error: (error as Error).message },
          'not delivered; will be tried again',
        );
        await setTimeout(FINALIZE_RETRY_DELAY_MS);
      }
    }
  };
  try {
    await finalizeGeneration(generation, route, result, retry);
  } finally {
    if (result.state === 'succeeded' && 'file' in result.output) await deleteTempFile(result.output.file);
  }
}

async function handleSubmitError(
  generation: ClaimedGeneration,
  route: UpstreamRoute,
  error: UpstreamError,
): Promise<void> {
  const { uuid } = generation;
  if (error.fault === 'refused') {
    await failGeneration({ uuid, message: error.message });
    return;
  }
  const delayMs = Math.max(getRetryDelayMs(generation.created_at), error.retryAfterMs);
  logger.warn({ generationId: uuid, fault: error.fault, error: error.message, delayMs }, 'not submitted');
  await retryDuringOutage(generation, () =>
    releaseGeneration(generation, delayMs, error.fault === 'unknown' ? 'unknown' : 'not accepted'),
  );
  void enqueueGeneration('generation.dispatch', uuid, delayMs);
  // An upstream that answers, if only that it is busy, is there: its health is for the probes to judge. So it is where
  // answers take minutes: one that did not come in time says nothing about the next.
  if (error.isAccountError) await openCircuit(route, error.message);
  else if (!error.wasAnswered && !getUpstream(route).isSynchronous)
    await recordProbe(route, error.message, 'submission');
}

/** A quarter of the job's age, but at least 1 and at most 30 seconds. */
function getRetryDelayMs(createdAt: Date): number {
  const age = now().getTime() - createdAt.getTime();
  return Math.min(30_000, Math.max(1_000, Math.ceil(age / 4_000) * 1_000));
}
