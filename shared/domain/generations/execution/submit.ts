import { deleteTempFile, newTempFile } from '../../../gateways/media/tempFiles.ts';
import {
  buildImageVariables,
  buildUpstreamInput,
  FAILURE_MESSAGES,
  isTestUpstream,
  omitImageParams,
  type UpstreamRoute,
  type UpstreamResult,
  UpstreamError,
  type UpstreamHandle,
  getUpstream,
} from '../../../gateways/upstreams/index.ts';
import { now } from '../../../lib/clock.ts';
import { logger } from '../../../lib/logger.ts';
import { enqueueDispatch, enqueuePoll } from '../../../queues/enqueue.ts';
import { UNCONFIRMED_SUBMITS_MAX } from '../../../spec/limits.ts';
import { findGenerationImages } from '../../uploads/generationImages.ts';
import { buildCallbackUrl } from './callbacks.ts';
import { cancelAtUpstream } from './cancelAtUpstream.ts';
import { openCircuit, recordAcceptance, recordAccountError } from './circuit.ts';
import { cancelUnsubmitted, failGeneration } from './completeOrFail.ts';
import { finalizeGeneration } from './finalize.ts';
import { getGenerationRoute } from './generationRoute.ts';
import { isAccountRejected } from './healthCheck.ts';
import { withLease } from './lease.ts';
import { recordProbe } from './modelHealth.ts';
import { getFirstPollDelayMs } from './pollPace.ts';
import { retryDuringOutage, retryUntilStored } from './retry.ts';
import { recordAccepted, releaseGeneration } from './submitResult.ts';
import type { ClaimedGeneration } from './step.ts';

/** Submits a generation that this process has claimed. */
export async function submitClaimed(generation: ClaimedGeneration): Promise<void> {
  const { uuid, account_id } = generation;
  // Anything but a first submit may be running at the upstream: it is submitted, and cancelled with its handle.
  if (generation.cancel_requested_at !== null && generation.unconfirmed_submits === 0) {
    // While this claim is not released, the next one counts a submit that never happened.
    await retryDuringOutage(generation, () => cancelUnsubmitted(generation, generation.submit_started_at));
    return;
  }
  if (generation.unconfirmed_submits > UNCONFIRMED_SUBMITS_MAX) {
    logger.error(
      { generationId: uuid, submits: generation.unconfirmed_submits },
      'giving up: submission was never confirmed',
    );
    await failGeneration({ uuid, account_id, message: FAILURE_MESSAGES.notConfirmed });
    return;
  }
  const route = await prepareOrRelease(generation, () => getGenerationRoute(generation));
  if (route === undefined) throw new Error(`Upstream ${generation.upstream} is no longer configured.`);
  try {
    await withLease(generation, () => submitToUpstream(route, generation));
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    await handleSubmitError(generation, route, error);
  }
}

/**
 * Runs a step before the submit is sent, and releases the claim if it fails: the next claim would otherwise count a submit
 * that never happened. The sweep enqueues the generation again.
 */
async function prepareOrRelease<Result>(
  generation: ClaimedGeneration,
  prepare: () => Promise<Result>,
): Promise<Result> {
  try {
    return await prepare();
  } catch (error) {
    if (!(error instanceof UpstreamError)) {
      const delayMs = getRetryDelayMs(generation.created_at);
      await retryDuringOutage(generation, () => releaseGeneration(generation, delayMs, 'not accepted'));
    }
    throw error;
  }
}

async function submitToUpstream(route: UpstreamRoute, generation: ClaimedGeneration): Promise<void> {
  const { inputs } = route;
  const images = await prepareOrRelease(generation, () => findGenerationImages(generation, inputs));
  const variables = { ...omitImageParams(inputs, generation.params), ...buildImageVariables(inputs, images) };
  const callbackUrl = buildCallbackUrl(generation, route);
  const result = await getUpstream(route).submit({
    generationId: generation.uuid,
    input: buildUpstreamInput(route, { prompt: generation.prompt, ...variables }),
    images,
    deadlineAt: generation.deadline_at,
    ...(callbackUrl === undefined ? {} : { callbackUrl }),
    newFile: newTempFile,
  });
  if (result.state === 'accepted') await handleAccepted(generation, route, result.handle);
  else await handleResult(generation, route, result);
}

async function handleAccepted(
  generation: ClaimedGeneration,
  route: UpstreamRoute,
  handle: UpstreamHandle,
): Promise<void> {
  const { uuid, account_id } = generation;
  const { name: upstream } = route.upstream;
  const firstPollDelayMs = getFirstPollDelayMs(upstream);
  const acceptedSubmit = { uuid, account_id, handle, upstream, upstream_model: route.modelId, firstPollDelayMs };
  const outcome = await retryDuringOutage(generation, () => recordAccepted(acceptedSubmit));
  if (outcome !== 'late') {
    logger.info({ generationId: uuid, upstream }, 'generation submitted');
    void enqueuePoll(generation, outcome === 'poll due' ? 0 : firstPollDelayMs);
    return;
  }
  logger.warn({ generationId: uuid }, 'submission accepted too late; cancelling it at the upstream');
  await cancelAtUpstream(uuid, route, handle);
}

/** Finalizes a result that came with the submit response. It comes only once, so it is kept until it is stored. */
async function handleResult(
  generation: ClaimedGeneration,
  route: UpstreamRoute,
  result: UpstreamResult,
): Promise<void> {
  try {
    if (result.state === 'succeeded') await retryDuringOutage(generation, () => recordAcceptance(route));
    await finalizeGeneration(generation, route, result, retryUntilStored(generation));
  } finally {
    if (result.state === 'succeeded' && 'file' in result.output) await deleteTempFile(result.output.file);
  }
}

async function handleSubmitError(
  generation: ClaimedGeneration,
  route: UpstreamRoute,
  error: UpstreamError,
): Promise<void> {
  const { uuid, account_id } = generation;
  const accountErrorAt = error.isAccountError ? now() : null;
  const evidence =
    accountErrorAt === null
      ? undefined
      : await retryDuringOutage(generation, () => recordAccountError(route, generation, accountErrorAt));
  if (error.fault === 'rejected' || evidence === 'generation') {
    const message = error.fault === 'rejected' ? error.message : FAILURE_MESSAGES.notMade;
    await failGeneration({ uuid, account_id, message });
    return;
  }
  const delayMs = Math.max(getRetryDelayMs(generation.created_at), error.retryAfterMs);
  logger.warn({ err: error, generationId: uuid, fault: error.fault, delayMs }, 'submit failed; will retry');
  const isCancelRequested = await retryDuringOutage(generation, () =>
    releaseGeneration(generation, delayMs, error.fault === 'unknown' ? 'unknown' : 'not accepted', accountErrorAt),
  );
  if (isCancelRequested && (await cancelUnsubmitted(generation, null))?.hasEnded === true) return;
  void enqueueDispatch({ uuid, account_id, is_test: isTestUpstream(route.upstream) }, { delayMs });
  // Only transport errors count as failed probes: an upstream that responds, even with "busy", is reachable. A
  // synchronous upstream takes minutes to respond, so its timeouts say nothing about its health.
  if (error.isAccountError) {
    const isFirst = generation.account_error_at === null;
    if (evidence === 'account' || (isFirst && (await isAccountRejected(route))))
      await openCircuit(route, error.message);
  } else if (!error.hasResponse && !getUpstream(route).isSynchronous)
    await recordProbe(route, error.message, 'submission');
}

/** Returns a quarter of the generation's age, at least 1 and at most 30 seconds. */
function getRetryDelayMs(createdAt: Date): number {
  const age = now().getTime() - createdAt.getTime();
  return Math.min(30_000, Math.max(1_000, Math.ceil(age / 4_000) * 1_000));
}
