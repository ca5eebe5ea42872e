import { FAILURE_MESSAGES } from '../../../gateways/upstreams/index.ts';
import { createBatcher } from '../../../lib/batcher.ts';
import { addMilliseconds, now } from '../../../lib/clock.ts';
import { isRejection } from '../../../lib/database/errors.ts';
import { prepared, runStatement, type Statement } from '../../../lib/database/preparedStatements.ts';
import { logger } from '../../../lib/logger.ts';
import { creditsRefunded, generationsCompleted } from '../../../lib/metrics.ts';
import type { GenerationKey } from '../../../queues/catalog.ts';
import { buildServiceCaller, type Caller } from '../../accounts/accounts.ts';
import { withVerifiedCredential } from '../../accounts/credentialChanges.ts';
import { LOCK_GRANT } from '../../oauth/lockGrants.ts';
import { enqueueEventDispatch } from '../../../queues/enqueue.ts';
import { publishGenerationUpdate } from '../../../queues/generationUpdates.ts';
import { MINUTE_MS } from '../../../spec/durations.ts';
import type { WebhookEventType } from '../../../spec/events.ts';
import { STEP_INTERVAL_MS } from './transition.ts';

/** Delay before files of a failed generation are deleted from storage. Far longer than a download can take. */
const ORPHANED_MEDIA_DELAY_MS = 15 * MINUTE_MS;

/**
 * Ends generations: one statement for success and one for failure, each for a batch that ends in this process. Both
 * start from `status = 'queued'`, so one caller wins each generation, and only the winner frees the slot and, on
 * failure, refunds. Accounts are locked first and in the order of their ids, as everywhere; the `uuids` array repeats
 * the uuids of `ends`, so that the planner uses the index even if the table is small. The event of an end is written by
 * the same statement, if a webhook follows from it.
 */

export interface GenerationSuccess extends GenerationKey {
  output_path: string;
  thumbnail_path: string | null;
  is_watermarked: boolean;
  /** Cost of the run for us, in cents with decimals; null if its price is not known. */
  provider_cost_cents: number | null;
}

export interface GenerationFailure extends GenerationKey {
  /** Shown to the customer. */
  message: string;
}

const LOCK_OWNERS = `
  SELECT a.id, a.balance, a.plan_credits, a.topup_credits, a.generation_count_at_period_start, a.period_used, a.in_flight, a.ledger_count,
         a.webhook_count
    FROM accounts a
   WHERE a.id = ANY (cast(:accounts AS bigint[]))
   ORDER BY a.id
     FOR NO KEY UPDATE`;

/** Common table expression that records an event for each generation in `ended` that a webhook follows from. */
const insertEvents = (type: WebhookEventType) => `
   event AS (
     INSERT INTO outbox_events (account_id, type, subject, created_at, next_attempt_at)
     SELECT account_id, '${type}', cast(uuid AS text), cast(:now AS timestamptz), cast(:now AS timestamptz)
       FROM ended WHERE has_webhook
     ON CONFLICT (account_id, type, subject) DO NOTHING
   )`;

const COMPLETE_GENERATIONS = prepared(
  'complete_generations',
  `WITH result AS MATERIALIZED (
     SELECT * FROM json_to_recordset(:ends)
         AS r (uuid uuid, account_id bigint, output_path text, thumbnail_path text, is_watermarked boolean, provider_cost_cents numeric)
   ), owner AS MATERIALIZED (${LOCK_OWNERS}
   ), ended AS (
     UPDATE generations g
        SET status = 'succeeded', completed_at = :now, output_path = result.output_path,
            thumbnail_path = result.thumbnail_path, is_watermarked = result.is_watermarked,
            provider_cost_cents = result.provider_cost_cents
       FROM result, owner
      WHERE g.uuid = ANY (cast(:uuids AS uuid[])) AND g.uuid = result.uuid AND g.account_id = result.account_id
        AND g.account_id = owner.id AND g.status = 'queued'
     RETURNING g.uuid, g.account_id, g.is_test, g.deleted_at, g.media_token,
               owner.webhook_count > 0 OR g.webhook_url IS NOT NULL AS has_webhook
   ), unwanted AS (
     INSERT INTO media_deletions (media_token, next_attempt_at)
     SELECT media_token, cast(:now AS timestamptz) FROM ended WHERE deleted_at IS NOT NULL AND media_token IS NOT NULL
     ON CONFLICT (media_token) DO NOTHING
   ), freed AS (
     UPDATE accounts a SET in_flight = owner.in_flight - counts.ended
       FROM owner JOIN (SELECT account_id, cast(count(*) AS int) AS ended FROM ended GROUP BY account_id) counts
              ON counts.account_id = owner.id
      WHERE a.id = owner.id
   ), ${insertEvents('generation.succeeded')}
   SELECT uuid, is_test, has_webhook FROM ended`,
);

/**
 * Common table expressions of a cancellation. It ends a generation that certainly was not submitted: without a handle,
 * without an unconfirmed submit, and without a claim other than the caller's own. For any other queued one it records
 * the request, once. Both are decided on the locked row, so that a claim or a handle that commits meanwhile counts.
 */
const DECIDE_CANCELLATION = `
   target AS MATERIALIZED (
     SELECT g.uuid, g.account_id,
            g.upstream_handle IS NULL AND g.unconfirmed_submits = 0
              AND g.submit_started_at IS NOT DISTINCT FROM result.claimed_at AS is_unsubmitted
       FROM result JOIN owner ON owner.id = result.account_id
       JOIN generations g ON g.uuid = result.uuid AND g.account_id = owner.id
      WHERE g.uuid = ANY (cast(:uuids AS uuid[])) AND (g.deleted_at IS NULL OR g.cancel_requested_at IS NOT NULL)
      ORDER BY g.uuid FOR NO KEY UPDATE OF g
   ), requested AS (
     UPDATE generations g
        SET cancel_requested_at = :now, next_poll_at = NULL,
            next_attempt_at = CASE WHEN g.upstream_handle IS NULL THEN g.next_attempt_at ELSE :now END
       FROM target
      WHERE g.uuid = target.uuid AND g.account_id = target.account_id AND NOT target.is_unsubmitted
        AND g.status = 'queued' AND g.cancel_requested_at IS NULL
     RETURNING g.uuid, g.upstream_handle IS NOT NULL AS is_submitted, g.polled_at
   ),`;

type FailStatementName = 'fail_generations' | 'cancel_generation' | 'cancel_generation_by_grant';

/**
 * Builds the statement that fails generations, or one that cancels a generation. All refund in the same way.
 * @param hasGrant true if an application cancels: nothing happens if its grant was revoked.
 */
const prepareFailStatement = (name: FailStatementName, isCancellation: boolean, hasGrant = false) =>
  prepared(
    name,
    `WITH result AS MATERIALIZED (
     SELECT * FROM json_to_recordset(:ends) AS r (uuid uuid, account_id bigint, message text, claimed_at timestamptz)
   ), ${hasGrant ? 'account' : 'owner'} AS MATERIALIZED (${LOCK_OWNERS}
   ), ${hasGrant ? LOCK_GRANT : ''}${isCancellation ? DECIDE_CANCELLATION : ''} ended AS (
     UPDATE generations g SET status = 'failed', completed_at = :now, error_message = result.message
            ${isCancellation ? ', cancel_requested_at = coalesce(g.cancel_requested_at, :now)' : ''}
       FROM result, owner ${isCancellation ? ', target' : ''}
      WHERE g.uuid = ANY (cast(:uuids AS uuid[])) AND g.uuid = result.uuid AND g.account_id = result.account_id
        AND g.account_id = owner.id AND g.status = 'queued'
        ${isCancellation ? 'AND target.uuid = g.uuid AND target.account_id = g.account_id AND target.is_unsubmitted' : ''}
     RETURNING g.uuid, g.account_id, g.is_test, g.model, g.created_at, g.credits_charged, g.plan_credits_charged,
               g.error_message, g.media_token, owner.webhook_count > 0 OR g.webhook_url IS NOT NULL AS has_webhook,
               CASE WHEN g.number > owner.generation_count_at_period_start THEN g.credits_charged ELSE 0 END AS used_this_period
   ), leftovers AS (
     INSERT INTO media_deletions (media_token, next_attempt_at)
     SELECT media_token, cast(:late AS timestamptz) FROM ended WHERE media_token IS NOT NULL
     ON CONFLICT (media_token) DO UPDATE SET next_attempt_at = excluded.next_attempt_at
   ), counts AS (
     SELECT account_id, cast(count(*) AS int) AS ended, cast(count(*) FILTER (WHERE NOT is_test) AS int) AS entries,
            cast(sum(credits_charged) AS int) AS credits,
            cast(sum(plan_credits_charged) AS int) AS plan_credits, cast(sum(used_this_period) AS int) AS used
       FROM ended GROUP BY account_id
   ), refunded AS (
     UPDATE accounts a
        SET balance = owner.balance + counts.credits,
            plan_credits = owner.plan_credits + counts.plan_credits,
            topup_credits = owner.topup_credits + counts.credits - counts.plan_credits,
            period_used = owner.period_used - counts.used,
            in_flight = owner.in_flight - counts.ended,
            ledger_count = owner.ledger_count + counts.entries
       FROM owner JOIN counts ON counts.account_id = owner.id
      WHERE a.id = owner.id
   ), refund AS (
     INSERT INTO ledger_entries (account_id, number, entry_type, amount, plan_amount, balance_after, description,
                                 generation_uuid, created_at)
     SELECT ended.account_id, owner.ledger_count + row_number() OVER in_order, 'refund', ended.credits_charged,
            ended.plan_credits_charged, owner.balance + sum(ended.credits_charged) OVER in_order,
            'Refund: ' || ended.model || CASE ended.error_message WHEN '${FAILURE_MESSAGES.canceledByOwner}'
                                           THEN ' generation canceled' ELSE ' generation failed' END,
            ended.uuid, cast(:now AS timestamptz)
       FROM ended JOIN owner ON owner.id = ended.account_id
      WHERE NOT ended.is_test
     WINDOW in_order AS (PARTITION BY ended.account_id ORDER BY ended.uuid)
   ), usage AS (
     UPDATE usage_days u SET credits = u.credits - days.credits
       FROM (SELECT account_id, cast(created_at AT TIME ZONE 'UTC' AS date) AS day, model,
                    sum(credits_charged) AS credits
               FROM ended GROUP BY 1, 2, 3) days
      WHERE u.account_id = days.account_id AND u.day = days.day AND u.model = days.model
   ), total AS (
     UPDATE usage_totals u SET credits = u.credits - models.credits
       FROM (SELECT account_id, model, sum(credits_charged) AS credits FROM ended GROUP BY 1, 2) models
      WHERE u.account_id = models.account_id AND u.model = models.model
   ), ${insertEvents('generation.failed')}
   SELECT uuid, is_test, credits_charged, has_webhook, true AS has_ended, false AS is_submitted,
          cast(NULL AS timestamptz) AS polled_at FROM ended
   ${isCancellation ? 'UNION ALL SELECT uuid, false, 0, false, false, is_submitted, polled_at FROM requested' : ''}`,
  );

const FAIL_GENERATIONS = prepareFailStatement('fail_generations', false);
const CANCEL_GENERATION = prepareFailStatement('cancel_generation', true);
const CANCEL_GENERATION_BY_GRANT = prepareFailStatement('cancel_generation_by_grant', true, true);

/** Ends a generation with its output. @returns false if it had ended before. */
export const completeGeneration: (success: GenerationSuccess) => Promise<boolean> =
  createEndBatcher(COMPLETE_GENERATIONS);

/** Ends a generation without output and refunds its credits. @returns false if it had ended before. */
export const failGeneration: (failure: GenerationFailure) => Promise<boolean> = createEndBatcher(FAIL_GENERATIONS);

interface EndedRow {
  uuid: string;
  is_test: boolean;
  credits_charged?: number;
  /** True if an event was recorded for it. */
  has_webhook: boolean;
}

/** Result of a cancellation; undefined if the generation had ended, does not exist, or was cancelled before. */
export type Cancellation = { hasEnded: true } | { hasEnded: false; isSubmitted: boolean; polledAt: Date | null };

/**
 * Ends and refunds a generation that certainly was not submitted, and records the request for any other queued one.
 * @param claimedAt fencing token of the caller's own claim; null if the caller has none.
 * @param caller who cancels. Nothing happens if the grant of an application was revoked.
 * @throws ServiceError if the key or the session of the caller is not valid any more
 */
export async function cancelUnsubmitted(
  { uuid, account_id }: GenerationKey,
  claimedAt: Date | null,
  caller: Caller = buildServiceCaller(account_id),
): Promise<Cancellation | undefined> {
  const { grantUuid } = caller;
  const end = { uuid, account_id, message: FAILURE_MESSAGES.canceledByOwner, claimed_at: claimedAt };
  type CancelRow = EndedRow & { has_ended: boolean; is_submitted: boolean; polled_at: Date | null };
  const bindings = buildEndBindings([end]);
  const [row] = await withVerifiedCredential('cancel generation', caller, (transaction) =>
    grantUuid === undefined
      ? runStatement<CancelRow>(CANCEL_GENERATION, bindings, transaction)
      : runStatement<CancelRow>(CANCEL_GENERATION_BY_GRANT, { ...bindings, grant: grantUuid }, transaction),
  );
  if (row === undefined) return undefined;
  if (!row.has_ended) return { hasEnded: false, isSubmitted: row.is_submitted, polledAt: row.polled_at };
  publishEnds([end], [row]);
  if (row.has_webhook) void enqueueEventDispatch();
  return { hasEnded: true };
}

function createEndBatcher(statement: Statement) {
  return createBatcher<GenerationSuccess | GenerationFailure, boolean>({
    maxItems: 64,
    maxInFlight: 2,
    intervalMs: STEP_INTERVAL_MS,
    isItemError: isRejection,
    getKey: (end) => end.uuid,
    run: async (ends) => {
      const rows = await runStatement<EndedRow>(statement, buildEndBindings(ends));
      const ended = publishEnds(ends, rows);
      if (rows.some((row) => row.has_webhook)) void enqueueEventDispatch();
      return ends.map((end) => ended.has(end.uuid));
    },
  });
}

function buildEndBindings(ends: (GenerationSuccess | GenerationFailure)[]) {
  const at = now();
  return {
    uuids: ends.map(({ uuid }) => uuid),
    accounts: ends.map(({ account_id }) => account_id),
    ends: JSON.stringify(ends),
    now: at,
    late: addMilliseconds(at, ORPHANED_MEDIA_DELAY_MS),
  };
}

/** Publishes and counts the ends that a statement has written. @returns their uuids. */
function publishEnds(ends: (GenerationSuccess | GenerationFailure)[], rows: EndedRow[]): Set<string> {
  const ended = new Set(rows.map((row) => row.uuid));
  const tests = new Set(rows.filter((row) => row.is_test).map((row) => row.uuid));
  for (const end of ends) if (ended.has(end.uuid)) publishCompletion(end, tests.has(end.uuid));
  // Rows of completed generations have no credits_charged: only failures are refunded.
  creditsRefunded.inc(rows.reduce((sum, { credits_charged: credits = 0 }) => sum + credits, 0));
  return ended;
}

function publishCompletion(end: GenerationSuccess | GenerationFailure, isTest: boolean): void {
  publishGenerationUpdate(end.uuid);
  if (!isTest) generationsCompleted.inc({ outcome: getOutcome(end) });
  if ('message' in end) logger.info({ generationId: end.uuid, reason: end.message }, 'generation failed and refunded');
  else logger.info({ generationId: end.uuid }, 'generation succeeded');
}

function getOutcome(end: GenerationSuccess | GenerationFailure): 'succeeded' | 'failed' | 'canceled' {
  if (!('message' in end)) return 'succeeded';
  return end.message === FAILURE_MESSAGES.canceledByOwner ? 'canceled' : 'failed';
}
