import { getCatalog } from '../../lib/catalog/catalog.ts';
import type { Knex } from 'knex';
import { floorToHour } from '../../lib/calendar.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { db } from '../../lib/database/pool.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { firstUuidAt } from '../../lib/uuid.ts';
import { HOUR_MS, MINUTE_MS } from '../../spec/durations.ts';
import { COMMISSION_PERCENT } from '../../spec/limits.ts';
import { CANCELED_REASON, KNOWN_REASONS, OTHER_REASON } from '../generations/failureReasons.ts';
import { GENERATION_SUMS } from './sums.ts';

/**
 * Hourly sums of generations for the staff metrics and the reports, by the hour of creation. A worker adds them in
 * slices of five minutes: once all generations of a slice have ended, for good; those that may still change once a
 * minute. So the cost depends on the traffic of a quarter of an hour and of the generations in progress, not on the
 * history.
 */

/** The sums are at most about this old while a worker runs. */
const INTERVAL_MS = MINUTE_MS;
/** Time after which no charge of a slice can still be committed, unless its commit waited for a standby for as long. */
const COMMIT_GRACE_MS = 15 * MINUTE_MS;
/** Time that one statement sums: an hour of a busy service would exceed the statement timeout. */
const SLICE_MS = 5 * MINUTE_MS;
/** Slices of one run: a history that was not summed, as after a restore, needs several runs. */
const SLICES_PER_RUN = 1_000;

const LOCK_SUMS = prepared('lock_generation_hours', 'SELECT pg_try_advisory_xact_lock(7206512017) AS is_mine');

const READ_PROGRESS = prepared('read_report_progress', 'SELECT finished_until, summed_at FROM report_progress');

const WRITE_PROGRESS = prepared(
  'write_report_progress',
  `INSERT INTO report_progress (is_current, finished_until, summed_at) VALUES (true, :finishedUntil, :summedAt)
   ON CONFLICT (is_current) DO UPDATE
     SET finished_until = excluded.finished_until, summed_at = excluded.summed_at`,
);

/** The time in a uuid is that of its creation, so the primary key finds the first row since a moment. */
const FIND_NEXT = prepared(
  'find_next_generation',
  'SELECT created_at FROM generations WHERE uuid >= :first ORDER BY uuid LIMIT 1',
);

/** Reads the partial index of queued generations. */
const FIND_IN_PROGRESS = prepared(
  'find_generation_in_progress',
  `SELECT created_at FROM generations WHERE status = 'queued' AND NOT is_test ORDER BY uuid LIMIT 1`,
);

const CLEAR_OPEN = prepared('clear_open_generation_hours', 'DELETE FROM generation_hours WHERE is_open');

/** A generation that its owner canceled is failed for the API, and not here. */
const IS_FAILURE = "reason NOT IN ('', :canceledReason)";

/**
 * Adds a slice of an hour to its sums. Revenue is attributed to credits as docs/metrics.md defines it. Accounts are
 * read one by one by their key, because a join of a large batch would read all accounts.
 */
const SUM_SLICE = prepared(
  'sum_generation_slice',
  `WITH made AS MATERIALIZED (
     SELECT account_id, uuid, model, coalesce(upstream, '') AS upstream, coalesce(upstream_model, '') AS upstream_model,
            status, completed_at, credits_charged, plan_credits_charged, provider_cost_cents,
            CASE WHEN status = 'failed' THEN 0 ELSE plan_credits_charged END AS plan_credits,
            CASE WHEN status = 'failed' THEN 0 ELSE credits_charged - plan_credits_charged END AS topup_credits,
            -- A synchronous upstream has no accepted submission: its submission ends with the generation.
            CASE WHEN status = 'succeeded' AND coalesce(submitted_at, submit_started_at) <= completed_at
                 THEN round(1000 * extract(epoch FROM completed_at - coalesce(submitted_at, submit_started_at))) END AS latency_ms,
            CASE WHEN status <> 'failed' THEN '' WHEN error_message = ANY (cast(:reasons AS text[])) THEN error_message
                 ELSE :otherReason END AS reason
       FROM generations
      WHERE uuid >= :first AND uuid < :last AND NOT is_test
   ), owner AS MATERIALIZED (
     SELECT ids.account_id, coalesce(a.plan_slug, '') AS plan, coalesce(plan.cents_per_credit, 0) AS plan_rate,
            coalesce(bought.cents / nullif(bought.credits, 0), 0) AS topup_rate,
            CASE WHEN a.is_referred THEN ${COMMISSION_PERCENT} / 100.0 ELSE 0 END AS commission_rate
       FROM (SELECT account_id, bool_or(topup_credits > 0) AS has_topup_credits FROM made GROUP BY account_id) ids
      CROSS JOIN LATERAL (
        SELECT plan_slug, EXISTS (SELECT FROM referrals r WHERE r.account_id = ids.account_id) AS is_referred
          FROM accounts WHERE id = ids.account_id LIMIT 1) a
       LEFT JOIN json_to_recordset(:plans) AS plan (slug text, cents_per_credit numeric) ON plan.slug = a.plan_slug
      CROSS JOIN LATERAL (
        SELECT cast(sum(kept_cents) AS numeric) AS cents,
               sum(credits - credits_reversed) AS credits
          FROM topups t WHERE ids.has_topup_credits AND t.account_id = ids.account_id AND t.status = 'succeeded') bought
   )
   INSERT INTO generation_hours AS h (hour, is_open, model, upstream, upstream_model, plan, reason,
                                      ${GENERATION_SUMS.join(', ')}, latency_ms_max, last_failed_at, example_uuid)
   SELECT date_trunc('hour', cast(:since AS timestamptz), 'UTC'), cast(:isOpen AS boolean), model, upstream, upstream_model, plan,
          reason, count(*), count(*) FILTER (WHERE status = 'succeeded'),
          count(*) FILTER (WHERE ${IS_FAILURE}), count(*) FILTER (WHERE reason = :canceledReason), sum(plan_credits), sum(topup_credits),
          coalesce(sum(credits_charged) FILTER (WHERE ${IS_FAILURE}), 0), sum(plan_credits * plan_rate),
          sum(topup_credits * topup_rate), sum(plan_credits * plan_rate * commission_rate),
          coalesce(sum(provider_cost_cents), 0), count(latency_ms), coalesce(sum(latency_ms), 0), coalesce(max(latency_ms), 0),
          max(completed_at) FILTER (WHERE ${IS_FAILURE}),
          (array_agg(uuid ORDER BY completed_at DESC) FILTER (WHERE ${IS_FAILURE}))[1]
     FROM made JOIN owner USING (account_id)
    GROUP BY model, upstream, upstream_model, plan, reason
   ON CONFLICT (hour, is_open, model, upstream, upstream_model, plan, reason) DO UPDATE
     SET ${GENERATION_SUMS.map((name) => `${name} = h.${name} + excluded.${name}`).join(', ')},
         latency_ms_max = greatest(h.latency_ms_max, excluded.latency_ms_max),
         example_uuid = CASE WHEN excluded.last_failed_at > h.last_failed_at THEN excluded.example_uuid ELSE h.example_uuid END,
         last_failed_at = greatest(h.last_failed_at, excluded.last_failed_at)`,
);

/**
 * Brings the hourly sums up to date, unless that was done within the last minute. Safe to run anywhere, repeatedly:
 * another worker that sums is left to finish.
 */
export async function sumGenerationHours(): Promise<void> {
  await db.transaction(async (transaction: Knex.Transaction) => {
    const [lock] = await runStatement<{ is_mine: boolean }>(LOCK_SUMS, {}, transaction);
    const at = now();
    const { finishedUntil, summedAt } = await readProgress(transaction);
    if (lock?.is_mine !== true || Math.abs(at.getTime() - summedAt.getTime()) < INTERVAL_MS) return;
    // Read before the sums: a generation that ends in between is in the sums, and its slice is summed again.
    const open = await findFirstOpenSlice(transaction, at);
    let since = await skipEmptySlices(transaction, finishedUntil, open);
    for (let count = 0; count < SLICES_PER_RUN && since < open; count += 1) {
      await sumSlice(transaction, since, false);
      since = await skipEmptySlices(transaction, addMilliseconds(since, SLICE_MS), open);
    }
    const isComplete = since >= open;
    if (isComplete) {
      await runStatement(CLEAR_OPEN, {}, transaction);
      for (let slice = since; slice <= at; slice = addMilliseconds(slice, SLICE_MS))
        await sumSlice(transaction, slice, true);
    }
    // Until the history is summed, the next run continues at once.
    await runStatement(WRITE_PROGRESS, { finishedUntil: since, summedAt: isComplete ? at : new Date(0) }, transaction);
  });
}

/** Returns the time until which the sums are final, and when those after it were last summed. */
async function readProgress(transaction: Knex.Transaction): Promise<{ finishedUntil: Date; summedAt: Date }> {
  const [progress] = await runStatement<{ finished_until: Date; summed_at: Date }>(READ_PROGRESS, {}, transaction);
  return { finishedUntil: progress?.finished_until ?? new Date(0), summedAt: progress?.summed_at ?? new Date(0) };
}

/**
 * Returns the time until which sums can be read in the snapshot of a transaction, and the uuid from which later
 * generations are found. These are the final sums, and open ones of hours before the last, as they were a minute ago: a
 * generation that does not end must not make a read count the rows of hours.
 */
export async function findSummedHours(
  transaction: Knex.Transaction,
): Promise<{ summedUntil: Date; includesOpen: boolean; first: string }> {
  const { finishedUntil, summedAt } = await readProgress(transaction);
  const openUntil = floorToHour(new Date(Math.min(+summedAt, now().getTime() - HOUR_MS)));
  const includesOpen = openUntil > finishedUntil;
  const summedUntil = includesOpen ? openUntil : finishedUntil;
  return { summedUntil, includesOpen, first: firstUuidAt(summedUntil) };
}

/** Returns the start of the first slice that has a generation in progress, or may still get some. */
async function findFirstOpenSlice(transaction: Knex.Transaction, at: Date): Promise<Date> {
  const [queued] = await runStatement<{ created_at: Date }>(FIND_IN_PROGRESS, {}, transaction);
  return floorToSlice(Math.min(at.getTime() - COMMIT_GRACE_MS, queued?.created_at.getTime() ?? Infinity));
}

/**
 * Returns the first slice from the given one that has generations; without any before the open ones, the first of
 * these.
 */
async function skipEmptySlices(transaction: Knex.Transaction, slice: Date, open: Date): Promise<Date> {
  if (slice >= open) return slice;
  const [next] = await runStatement<{ created_at: Date }>(FIND_NEXT, { first: firstUuidAt(slice) }, transaction);
  return floorToSlice(Math.min(open.getTime(), next?.created_at.getTime() ?? Infinity));
}

async function sumSlice(transaction: Knex.Transaction, since: Date, isOpen: boolean): Promise<void> {
  const bindings = {
    since,
    isOpen,
    first: firstUuidAt(since),
    last: firstUuidAt(addMilliseconds(since, SLICE_MS)),
    reasons: KNOWN_REASONS,
    otherReason: OTHER_REASON,
    canceledReason: CANCELED_REASON,
    plans: JSON.stringify(listPlanRates()),
  };
  await runStatement(SUM_SLICE, bindings, transaction);
}

function floorToSlice(timeMs: number): Date {
  return new Date(Math.floor(timeMs / SLICE_MS) * SLICE_MS);
}

/** Cents per credit of each plan. */
function listPlanRates(): { slug: string; cents_per_credit: number }[] {
  return getCatalog().plans.map(({ slug, priceMonthlyCents, monthlyCredits }) => ({
    slug,
    cents_per_credit: priceMonthlyCents / monthlyCredits,
  }));
}
