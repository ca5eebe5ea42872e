import { createBatcher } from '../../../lib/batcher.ts';
import { addMilliseconds, now } from '../../../lib/clock.ts';
import { isRejection } from '../../../lib/database/errors.ts';
import { prepared, runStatement } from '../../../lib/database/preparedStatements.ts';
import type { GenerationKey } from '../../../queues/catalog.ts';
import { buildAcceptance } from './circuit.ts';
import { type ClaimedGeneration, CLOCK_SKEW_MS, STEP_INTERVAL_MS, SWEEP_GRACE_MS } from './step.ts';

interface AcceptedSubmit extends GenerationKey {
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
     SELECT g.uuid, g.account_id, g.cancel_requested_at IS NOT NULL OR (g.upstream_handle IS NULL AND g.next_poll_at IS NOT NULL) AS is_poll_due, r.handle, r.upstream, r.upstream_model, r.due
       FROM generations g
       JOIN json_to_recordset(:receipts)
              AS r (uuid uuid, account_id bigint, handle jsonb, upstream text, upstream_model text, due timestamptz)
         ON r.uuid = g.uuid AND r.account_id = g.account_id
      WHERE g.uuid = ANY (:uuids)
        AND ((g.status = 'queued' AND g.upstream_handle IS NULL) OR (g.upstream_handle = r.handle AND g.upstream = r.upstream))
      ORDER BY g.uuid FOR NO KEY UPDATE OF g
   ), recorded AS (
     UPDATE generations g
        SET upstream_handle = mine.handle, upstream = mine.upstream, upstream_model = mine.upstream_model,
            submitted_at = g.submit_started_at, submit_started_at = NULL, leased_until = NULL,
            next_attempt_at = CASE WHEN g.next_poll_at IS NULL THEN mine.due ELSE :soon END
       FROM mine
      WHERE g.uuid = mine.uuid AND g.account_id = mine.account_id AND g.upstream_handle IS NULL
   ), accepted AS (${buildAcceptance("SELECT upstream || ':' || upstream_model FROM mine")})
   SELECT uuid, is_poll_due FROM mine`,
);

/**
 * Records the handle under which the upstream accepted a generation. Safe to repeat after a lost response: a row that
 * already has this handle counts as recorded, also if it has ended since.
 * @returns `late` if the generation ended before, or has the handle of another submission; `poll due` if its owner has
 *   asked to cancel it, or its call-back has arrived already.
 */
export const recordAccepted = createBatcher<AcceptedSubmit, 'recorded' | 'poll due' | 'late'>({
  maxItems: 64,
  maxInFlight: 2,
  intervalMs: STEP_INTERVAL_MS,
  isItemError: isRejection,
  // Two submissions of one generation must not share a statement: only one of them is recorded.
  getKey: ({ uuid }) => uuid,
  run: async (receipts) => {
    const at = now();
    const uuids = receipts.map(({ uuid }) => uuid);
    const rows = await runStatement<{ uuid: string; is_poll_due: boolean }>(RECORD_ACCEPTED, {
      uuids,
      now: at,
      soon: addMilliseconds(at, SWEEP_GRACE_MS),
      receipts: JSON.stringify(
        receipts.map(({ firstPollDelayMs, ...receipt }) => ({
          due: addMilliseconds(at, firstPollDelayMs + SWEEP_GRACE_MS),
          ...receipt,
        })),
      ),
    });
    const recorded = new Map(
      rows.map((row) => [row.uuid, row.is_poll_due ? ('poll due' as const) : ('recorded' as const)]),
    );
    return uuids.map((uuid) => recorded.get(uuid) ?? 'late');
  },
});

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
export async function releaseGeneration(
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
