import { FAILURE_MESSAGES } from '../../../gateways/upstreams/index.ts';
import { addMilliseconds, now } from '../../../lib/clock.ts';
import { prepared, runStatement } from '../../../lib/database/preparedStatements.ts';
import { logger } from '../../../lib/logger.ts';
import { generationsFailedOver } from '../../../lib/metrics.ts';
import type { GenerationKey, UnsubmittedGeneration } from '../../../queues/catalog.ts';
import { enqueueDispatch } from '../../../queues/enqueue.ts';
import { findReleasedModel } from '../../catalog/releases.ts';
import { failGeneration } from './completeOrFail.ts';
import { getModelChoices } from './modelHealth.ts';
import { type ClaimedGeneration, CURRENT_RUN, getRun, SWEEP_GRACE_MS } from './step.ts';

/** Reasons that would be the same at every upstream. */
const FINAL_REASONS: readonly string[] = [
  FAILURE_MESSAGES.notAllowed,
  FAILURE_MESSAGES.canceledByOwner,
  FAILURE_MESSAGES.inputGone,
];

/**
 * Queues a generation for its other upstreams that are online, in the state of one that was never submitted. The first
 * failure of a run does so; not if another run may exist, or if its owner has asked to cancel it.
 */
const FAIL_OVER = prepared(
  'fail_over_generation',
  `UPDATE generations g
      SET upstream_order = cast(:order AS smallint[]), failed_over_at = :now, upstream_handle = NULL, upstream_output = NULL,
          submit_started_at = NULL, submitted_at = NULL, leased_until = NULL, polled_at = NULL, next_poll_at = NULL,
          account_error_at = NULL, upstream = NULL, upstream_model = NULL, next_attempt_at = :due
    WHERE uuid = :uuid AND account_id = :account_id AND status = 'queued' AND failed_over_at IS NULL
      AND unconfirmed_submits = 0 AND cancel_requested_at IS NULL AND deadline_at > :now
      AND ${CURRENT_RUN} = :run
   RETURNING model, catalog_id, is_test`,
);

/**
 * Ends a generation whose run has failed: tries another upstream once if its model says so, else fails and refunds it.
 * Does nothing if it has another run meanwhile.
 * @param message shown to the customer.
 */
export async function endFailedRun(generation: ClaimedGeneration, message: string): Promise<void> {
  const { uuid, account_id, upstream, upstream_model: upstreamModel } = generation;
  const { retry_elsewhere: isRetried = false, upstreams = [] } =
    (await findReleasedModel(generation.catalog_id, generation.model))?.definition ?? {};
  // -1 for the upstream of test mode, which no catalog lists and which has no other.
  const failed = upstreams.indexOf(`${upstream}:${upstreamModel}`);
  if (isRetried && failed !== -1 && !FINAL_REASONS.includes(message)) {
    const online = await listOnline(generation);
    const order = (generation.upstream_order ?? [...upstreams.keys()]).filter(
      (position) => position !== failed && online.includes(position),
    );
    if (order.length > 0 && (await failOver(generation, order, message))) return;
  }
  await failGeneration({ uuid, account_id, message, run: getRun(generation) });
}

/** Lists the positions of the upstreams that can run a generation now. */
async function listOnline({ model, catalog_id: catalogId }: ClaimedGeneration): Promise<readonly number[]> {
  const choices = await getModelChoices();
  return choices.find((one) => one.model === model && one.catalogId === catalogId && !one.isTest)?.online ?? [];
}

/** @returns false if the generation cannot be tried elsewhere. */
async function failOver(generation: ClaimedGeneration, order: number[], reason: string): Promise<boolean> {
  const { uuid, account_id, upstream } = generation;
  const at = now();
  const due = addMilliseconds(at, SWEEP_GRACE_MS);
  const bindings = { uuid, account_id, order, now: at, due, run: getRun(generation) };
  const [row] = await runStatement<Omit<UnsubmittedGeneration, keyof GenerationKey>>(FAIL_OVER, bindings);
  if (row === undefined) return false;
  generationsFailedOver.inc({ upstream });
  logger.warn({ generationId: uuid, upstream, reason }, 'run failed; trying another upstream');
  void enqueueDispatch({ uuid, account_id, ...row, upstream_order: order });
  return true;
}
