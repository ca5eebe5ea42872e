import { v5 as uuidv5 } from 'uuid';
import { deleteTempFile, newTempFile } from '../../../gateways/media/tempFiles.ts';
import {
  buildImageVariables,
  buildUpstreamInput,
  FAILURE_MESSAGES,
  getUpstream,
  isTestUpstream,
  omitImageParams,
  UpstreamError,
  type UpstreamHandle,
  type UpstreamResult,
  type UpstreamRoute,
} from '../../../gateways/upstreams/index.ts';
import { addMilliseconds, now } from '../../../lib/clock.ts';
import { prepared, runStatement } from '../../../lib/database/preparedStatements.ts';
import { logger } from '../../../lib/logger.ts';
import type { GenerationKey } from '../../../queues/catalog.ts';
import { enqueueDispatch, enqueuePoll } from '../../../queues/enqueue.ts';
import { UNCONFIRMED_SUBMITS_MAX } from '../../../spec/limits.ts';
import { findGenerationImages } from '../../uploads/generationImages.ts';
import { buildCallbackUrl } from './callbacks.ts';
import { cancelAtUpstream } from './cancelAtUpstream.ts';
import { buildAcceptance, openCircuit, recordAcceptance, recordAccountError } from './circuit.ts';
import { cancelUnsubmitted, failGeneration } from './completeOrFail.ts';
import { endFailedRun } from './failOver.ts';
import { finalizeGeneration } from './finalize.ts';
import { getGenerationRoute } from './generationRoute.ts';
import { isAccountRejected } from './healthCheck.ts';
import { withLease } from './lease.ts';
import { recordProbe } from './modelHealth.ts';
import { getFirstPollDelayMs } from './pollPace.ts';
import { retryDuringOutage, retryUntilStored } from './retry.ts';
import { batchStep, type ClaimedGeneration, CLOCK_SKEW_MS, getRun, SWEEP_GRACE_MS } from './step.ts';
import { getUpstreamSlots } from './upstreamSlots.ts';

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
    await failGeneration({ uuid, account_id, message: FAILURE_MESSAGES.notConfirmed, run: getRun(generation) });
    return;
  }
  const route = await prepareOrRelease(generation, () => getGenerationRoute(generation));
  if (route === undefined) throw new Error(`Upstream ${generation.upstream} is no longer configured.`);
  try {
    await withLease([generation], () => submitToUpstream(route, generation));
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error;
    await handleSubmitError(generation, route, error);
  }
}

/**
 * Runs a step before the submit is sent, and releases the claim if it fails: the next claim would otherwise count a
 * submit that never happened. The sweep enqueues the generation again.
 */
async function prepareOrRelease<Result>(
  generation: ClaimedGeneration,
  prepare: () => Result | Promise<Result>,
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
  const input = await prepareOrRelease(generation, () =>
    buildUpstreamInput(route, { prompt: generation.prompt, ...variables }),
  );
  const callbackUrl = buildCallbackUrl(generation, route);
  const result = await getUpstream(route).submit({
    generationId: getRunId(generation),
    input,
    images,
    deadlineAt: generation.deadline_at,
    ...(callbackUrl === undefined ? {} : { callbackUrl }),
    newFile: newTempFile,
  });
  if (result.state === 'accepted') await handleAccepted(generation, route, result.handle);
  else await handleResult(generation, route, result);
}

/**
 * Returns the id by which the upstream recognizes a repeated submit. The run after a fail-over has another one: a
 * server that also received the first run would return that.
 */
function getRunId({ uuid, failed_over_at: failedOverAt }: ClaimedGeneration): string {
  return failedOverAt === null ? uuid : uuidv5('failed over', uuid);
}

async function handleAccepted(
  generation: ClaimedGeneration,
  route: UpstreamRoute,
  handle: UpstreamHandle,
): Promise<void> {
  const { uuid, account_id, submit_started_at: since, failed_over_at } = generation;
  const { name: upstream } = route.upstream;
  const firstPollDelayMs = getFirstPollDelayMs(upstream, route.modelId);
  const receipt = { since, failed_over_at, handle, upstream, upstream_model: route.modelId };
  const acceptedSubmit = { uuid, account_id, ...receipt, firstPollDelayMs };
  const outcome = await retryDuringOutage(generation, () => recordAccepted(acceptedSubmit));
  if (outcome !== 'late') {
    logger.info({ generationId: uuid, upstream }, 'generation submitted');
    void enqueuePoll(generation, outcome === 'poll due' ? 0 : firstPollDelayMs);
    return;
  }
  logger.warn({ generationId: uuid }, 'submission accepted too late; cancelling it at the upstream');
  await cancelAtUpstream(uuid, route, handle);
}

/**
 * Finalizes a result that came with the submit response. It comes only once, so it is kept until it is stored.
 * Downloads of it take space of those of the upstream, and are repeated until there is some.
 */
async function handleResult(
  generation: ClaimedGeneration,
  route: UpstreamRoute,
  result: UpstreamResult,
): Promise<void> {
  const { resize, release } = getUpstreamSlots('collect', route.upstream.name).hold();
  try {
    if (result.state === 'succeeded') await retryDuringOutage(generation, () => recordAcceptance(route));
    await finalizeGeneration(generation, route, result, { retry: retryUntilStored(generation), resize });
  } finally {
    release();
    if (result.state === 'succeeded')
      for (const output of result.outputs) if ('file' in output) await deleteTempFile(output.file);
  }
}

async function handleSubmitError(
  generation: ClaimedGeneration,
  route: UpstreamRoute,
  error: UpstreamError,
): Promise<void> {
  const { uuid, account_id, model, catalog_id, upstream_order } = generation;
  const accountErrorAt = error.isAccountError ? now() : null;
  const evidence =
    accountErrorAt === null
      ? undefined
      : await retryDuringOutage(generation, () => recordAccountError(route, generation, accountErrorAt));
  if (error.fault === 'rejected' || evidence === 'generation') {
    const message = error.fault === 'rejected' ? error.message : FAILURE_MESSAGES.notMade;
    await endFailedRun(generation, message);
    return;
  }
  const delayMs = Math.max(getRetryDelayMs(generation.created_at), error.retryAfterMs);
  logger.warn({ err: error, generationId: uuid, fault: error.fault, delayMs }, 'submit failed; will retry');
  const isCancelRequested = await retryDuringOutage(generation, () =>
    releaseGeneration(generation, delayMs, error.fault === 'unknown' ? 'unknown' : 'not accepted', accountErrorAt),
  );
  if (isCancelRequested && (await cancelUnsubmitted(generation, null))?.hasEnded === true) return;
  const isTest = isTestUpstream(route.upstream);
  void enqueueDispatch({ uuid, account_id, model, catalog_id, upstream_order, is_test: isTest }, { delayMs });
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

interface AcceptedSubmit extends GenerationKey, Pick<ClaimedGeneration, 'failed_over_at'> {
  /** Time of the claim that submitted it. */
  since: Date;
  handle: Record<string, unknown>;
  /** Upstream that issued the handle: a later claim may have chosen another one. */
  upstream: string;
  upstream_model: string;
  /** Delay until the first poll. */
  firstPollDelayMs: number;
}

const RECORD_ACCEPTED = prepared(
  'record_accepted',
  `WITH mine AS (
     SELECT g.uuid, g.account_id, g.cancel_requested_at IS NOT NULL OR (g.upstream_handle IS NULL AND g.next_poll_at IS NOT NULL) AS is_poll_due, r.handle, r.upstream, r.upstream_model, r.due, r.since
       FROM generations g
       JOIN json_to_recordset(:receipts)
              AS r (uuid uuid, account_id bigint, handle jsonb, upstream text, upstream_model text, due timestamptz,
                    since timestamptz, failed_over_at timestamptz)
         ON r.uuid = g.uuid AND r.account_id = g.account_id
      WHERE g.uuid = ANY (:uuids)
        AND ((g.status = 'queued' AND g.upstream_handle IS NULL AND g.failed_over_at IS NOT DISTINCT FROM r.failed_over_at)
             OR (g.upstream_handle = r.handle AND g.upstream = r.upstream))
      ORDER BY g.uuid FOR NO KEY UPDATE OF g
   ), recorded AS (
     UPDATE generations g
        SET upstream_handle = mine.handle, upstream = mine.upstream, upstream_model = mine.upstream_model,
            submitted_at = mine.since, submit_started_at = NULL, leased_until = NULL,
            next_attempt_at = CASE WHEN g.next_poll_at IS NULL THEN mine.due ELSE :soon END
       FROM mine
      WHERE g.uuid = mine.uuid AND g.account_id = mine.account_id AND g.upstream_handle IS NULL
   ), accepted AS (${buildAcceptance("SELECT upstream || ':' || upstream_model FROM mine")})
   SELECT uuid, is_poll_due FROM mine`,
);

const recordSubmits = batchStep<AcceptedSubmit, { uuid: string; is_poll_due: boolean }>(
  RECORD_ACCEPTED,
  (receipts, at) => ({
    soon: addMilliseconds(at, SWEEP_GRACE_MS),
    receipts: JSON.stringify(
      receipts.map(({ firstPollDelayMs, ...receipt }) => ({
        due: addMilliseconds(at, firstPollDelayMs + SWEEP_GRACE_MS),
        ...receipt,
      })),
    ),
  }),
);

/**
 * Records the handle under which the upstream accepted a generation. Safe to repeat after a lost response: a row that
 * already has this handle counts as recorded, also if it has ended since.
 * @returns `late` if the generation ended or failed over before, or has the handle of another submission; `poll due` if
 *   its owner has asked to cancel it, or its call-back has arrived already.
 */
export async function recordAccepted(submit: AcceptedSubmit): Promise<'recorded' | 'poll due' | 'late'> {
  const row = await recordSubmits(submit);
  if (row === undefined) return 'late';
  return row.is_poll_due ? 'poll due' : 'recorded';
}

const RELEASE_GENERATION = prepared(
  'release_generation',
  `UPDATE generations
      SET leased_until = :notBefore, next_attempt_at = :due, submit_started_at = CASE WHEN :unknown THEN submit_started_at END,
          account_error_at = coalesce(account_error_at, :accountErrorAt)
    WHERE uuid = :uuid AND account_id = :account_id AND upstream_handle IS NULL AND submit_started_at = :since
   RETURNING cancel_requested_at IS NOT NULL AS is_cancel_requested`,
);

/**
 * Releases a claimed generation so that it is submitted again after the delay. After an unknown outcome the next claim
 * counts an unconfirmed submit. Does nothing if another worker has claimed the generation since.
 * @param accountErrorAt time of the submit's failure if it was an error of our account; the first one is kept.
 * @returns true if its owner has asked to cancel it meanwhile.
 */
async function releaseGeneration(
  generation: ClaimedGeneration,
  delayMs: number,
  outcome: 'not accepted' | 'unknown',
  accountErrorAt: Date | null = null,
): Promise<boolean> {
  const { uuid, account_id, submit_started_at: since } = generation;
  const at = now();
  const [released] = await runStatement<{ is_cancel_requested: boolean }>(RELEASE_GENERATION, {
    uuid,
    account_id,
    since,
    // The dispatch job must find the lease expired, also by the clock of another machine.
    notBefore: addMilliseconds(at, delayMs - CLOCK_SKEW_MS),
    due: addMilliseconds(at, delayMs + SWEEP_GRACE_MS),
    unknown: outcome === 'unknown',
    accountErrorAt,
  });
  return released?.is_cancel_requested === true;
}
