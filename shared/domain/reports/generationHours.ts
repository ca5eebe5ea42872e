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
 * Hourly sums of generations for the staff metrics and the reports, by the hour of creation. A worker sums the hours
 * that may still change once a minute: those since the first one with a generation in progress. All other hours are
 * final, so the cost depends on the traffic of about an hour, not on the history.
 */

/** The sums are at most about this old while a worker runs. */
const INTERVAL_MS = MINUTE_MS;
/** Time after which no charge of an hour can still be committed, unless its commit waited for a standby for as long. */
const COMMIT_GRACE_MS = 15 * MINUTE_MS;
/** Time that one statement sums: an hour of a busy service would exceed the statement timeout. */
const SLICE_MS = 5 * MINUTE_MS;
/** Hours of one run: after an upgrade, the history is summed in several runs. */
const HOURS_PER_RUN = 500;

const LOCK_SUMS = prepared('lock_generation_hours', 'SELECT pg_try_advisory_xact_lock(7206512017) AS is_mine');

const READ_PROGRESS = prepared('read_report_progress', 'SELECT finished_until, summed_at FROM report_progress');

const WRITE_PROGRESS = prepared(
  'write_report_progress',
  `INSERT INTO report_progress AS p (is_current, finished_until, summed_at) VALUES (true, :finishedUntil, :summedAt)
   ON CONFLICT (is_current) DO UPDATE
     SET finished_until = greatest(p.finished_until, excluded.finished_until), summed_at = excluded.summed_at`,
);

/** The time in a uuid is that of its creation, so the primary key finds the first row since a moment. */
const FIND_NEXT = prepared(
  'find_next_generation',
  'SELECT created_at FROM generations WHERE uuid >= :first ORDER BY uuid LIMIT 1',
);

/** Reads the partial index of queued generations. */
const FIND_IN_PROGRESS = prepared(
  'find_generation_in_progress',
  `SELECT EXISTS (SELECT FROM generations WHERE status = 'queued' AND NOT is_test AND uuid < :last) AS is_found`,
);

const CLEAR_HOUR = prepared(
  'clear_generation_hour',
  `WITH failures AS (DELETE FROM failure_hours WHERE hour = :hour) DELETE FROM generation_hours WHERE hour = :hour`,
);

/**
 * Adds a slice of an hour to its sums. Revenue is attributed to credits as docs/metrics.md defines it. Accounts are read
 * one by one by their key, because a join of a large batch would read all accounts.
 */
const SUM_SLICE = prepared(
  'sum_generation_slice',
  `WITH made AS MATERIALIZED (
     SELECT account_id, uuid, model, coalesce(upstream, '') AS upstream, coalesce(upstream_model, '') AS upstream_model,
            -- The columns of the sums: a generation that its owner canceled is failed for the API, and not here.
            CASE WHEN status = 'failed' AND error_message = :canceledReason THEN 'canceled' ELSE status END AS outcome,
            status, completed_at, credits_charged, plan_credits_charged, provider_cost_cents,
            CASE WHEN status = 'failed' THEN 0 ELSE plan_credits_charged END AS plan_credits,
            CASE WHEN status = 'failed' THEN 0 ELSE credits_charged - plan_credits_charged END AS topup_credits,
            -- A synchronous upstream has no accepted submission: its submission ends with the generation.
            CASE WHEN status = 'succeeded' AND coalesce(submitted_at, submit_started_at) <= completed_at
                 THEN round(1000 * extract(epoch FROM completed_at - coalesce(submitted_at, submit_started_at))) END AS latency_ms,
            CASE WHEN error_message = ANY (cast(:reasons AS text[])) THEN error_message ELSE :otherReason END AS reason
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
        SELECT cast(sum(coalesce(net_cents, amount_cents) - reversed_cents) AS numeric) AS cents,
               sum(credits - credits_reversed) AS credits
          FROM topups t WHERE ids.has_topup_credits AND t.account_id = ids.account_id AND t.status = 'succeeded') bought
   ), failures AS (
     INSERT INTO failure_hours AS f (hour, model, upstream, upstream_model, reason, failed, refunded_credits,
                                     last_failed_at, example_uuid)
     SELECT cast(:hour AS timestamptz), model, upstream, upstream_model, reason, count(*), sum(credits_charged), max(completed_at),
            (array_agg(uuid ORDER BY completed_at DESC))[1]
       FROM made WHERE outcome = 'failed' GROUP BY model, upstream, upstream_model, reason
     ON CONFLICT (hour, model, upstream, upstream_model, reason) DO UPDATE
       SET failed = f.failed + excluded.failed, refunded_credits = f.refunded_credits + excluded.refunded_credits,
           example_uuid = CASE WHEN excluded.last_failed_at > f.last_failed_at THEN excluded.example_uuid ELSE f.example_uuid END,
           last_failed_at = greatest(f.last_failed_at, excluded.last_failed_at)
   )
   INSERT INTO generation_hours AS h (hour, model, upstream, upstream_model, plan, ${GENERATION_SUMS.join(', ')}, latency_ms_max)
   SELECT cast(:hour AS timestamptz), model, upstream, upstream_model, plan, count(*), count(*) FILTER (WHERE status = 'succeeded'),
          count(*) FILTER (WHERE outcome = 'failed'), count(*) FILTER (WHERE outcome = 'canceled'), sum(plan_credits), sum(topup_credits),
          coalesce(sum(credits_charged) FILTER (WHERE outcome = 'failed'), 0), sum(plan_credits * plan_rate),
          sum(topup_credits * topup_rate), sum(plan_credits * plan_rate * commission_rate),
          coalesce(sum(provider_cost_cents), 0), count(latency_ms), coalesce(sum(latency_ms), 0), coalesce(max(latency_ms), 0)
     FROM made JOIN owner USING (account_id)
    GROUP BY model, upstream, upstream_model, plan
   ON CONFLICT (hour, model, upstream, upstream_model, plan) DO UPDATE
     SET ${GENERATION_SUMS.map((name) => `${name} = h.${name} + excluded.${name}`).join(', ')},
         latency_ms_max = greatest(h.latency_ms_max, excluded.latency_ms_max)`,
);

/** Brings the hourly sums up to date, unless that was done within the last minute. Safe to run anywhere, repeatedly. */
export async function sumGenerationHours(): Promise<void> {
  const at = now();
  const [progress] = await runStatement<{ finished_until: Date; summed_at: Date }>(READ_PROGRESS, {});
  if (progress !== undefined && Math.abs(at.getTime() - progress.summed_at.getTime()) < INTERVAL_MS) return;
  let hour = await skipEmptyHours(progress?.finished_until ?? new Date(0), at);
  let finishedUntil = hour;
  for (let count = 0; count < HOURS_PER_RUN && hour <= at; count += 1) {
    const outcome = await sumHour(hour, at);
    if (outcome === 'busy') return;
    const next = addMilliseconds(hour, HOUR_MS);
    const isContiguous = outcome === 'final' && finishedUntil.getTime() === hour.getTime();
    hour = outcome === 'final' ? await skipEmptyHours(next, at) : next;
    if (isContiguous) finishedUntil = hour;
  }
  const isComplete = hour > at;
  // Until the history is summed, the next run continues at once.
  await runStatement(WRITE_PROGRESS, { finishedUntil, summedAt: isComplete ? at : new Date(0) });
}

/**
 * Returns the end of the hours whose sums can be read, and the uuid from which later generations are found. A statement
 * that reads both counts each generation once, even if more hours are summed meanwhile.
 *
 * These are the final hours, and hours before the last one that are still open, as they were a minute ago: a generation
 * that does not end must not make a read count the rows of hours.
 */
export async function readSummedHours(): Promise<{ summedUntil: Date; first: string }> {
  const [progress] = await runStatement<{ finished_until: Date; summed_at: Date }>(READ_PROGRESS, {});
  const finishedUntil = progress?.finished_until ?? new Date(0);
  const openUntil = floorToHour(progress?.summed_at ?? new Date(0));
  const lastHour = addMilliseconds(floorToHour(now()), -HOUR_MS);
  const summedUntil = new Date(Math.max(+finishedUntil, Math.min(+openUntil, +lastHour)));
  return { summedUntil, first: firstUuidAt(summedUntil) };
}

/** @returns `busy` if another worker sums, which is left to finish. */
async function sumHour(hour: Date, at: Date): Promise<'final' | 'open' | 'busy'> {
  return db.transaction(async (transaction: Knex.Transaction) => {
    const [lock] = await runStatement<{ is_mine: boolean }>(LOCK_SUMS, {}, transaction);
    if (lock?.is_mine !== true) return 'busy';
    const until = addMilliseconds(hour, HOUR_MS);
    // Read before the sums: a generation that ends in between is in the sums, and the hour is summed again.
    const last = firstUuidAt(until);
    const [progress] = await runStatement<{ is_found: boolean }>(FIND_IN_PROGRESS, { last }, transaction);
    await runStatement(CLEAR_HOUR, { hour }, transaction);
    for (let since = hour; since < until && since <= at; since = addMilliseconds(since, SLICE_MS))
      await sumSlice(transaction, hour, since);
    const ageMs = at.getTime() - until.getTime();
    return ageMs >= COMMIT_GRACE_MS && progress?.is_found === false ? 'final' : 'open';
  });
}

async function sumSlice(transaction: Knex.Transaction, hour: Date, since: Date): Promise<void> {
  const bindings = {
    hour,
    first: firstUuidAt(since),
    last: firstUuidAt(addMilliseconds(since, SLICE_MS)),
    reasons: KNOWN_REASONS,
    otherReason: OTHER_REASON,
    canceledReason: CANCELED_REASON,
    plans: JSON.stringify(listPlanRates()),
  };
  await runStatement(SUM_SLICE, bindings, transaction);
}

/** Returns the first hour from the given one that has generations, or may still get some. */
async function skipEmptyHours(hour: Date, at: Date): Promise<Date> {
  const [next] = await runStatement<{ created_at: Date }>(FIND_NEXT, { first: firstUuidAt(hour) });
  const open = floorToHour(addMilliseconds(at, -COMMIT_GRACE_MS));
  const target = next === undefined || next.created_at > open ? open : floorToHour(next.created_at);
  return target > hour ? target : hour;
}

/** Cents per credit of each plan. */
function listPlanRates(): { slug: string; cents_per_credit: number }[] {
  return getCatalog().plans.map(({ slug, priceMonthlyCents, monthlyCredits }) => ({
    slug,
    cents_per_credit: priceMonthlyCents / monthlyCredits,
  }));
}
