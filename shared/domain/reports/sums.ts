import { loadReleasedModels } from '../catalog/knownModels.ts';
import { formatUtcDay } from '../../lib/calendar.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { type PeriodRow, type ReportRange, sumBy } from './report.ts';

/** Sums that the reports read. Their number depends on the length of the range, not on the traffic or the history. */

/** Sums of generations created in the range or the period before it. */
export interface GenerationSum extends PeriodRow {
  model: string;
  upstream: string;
  plan: string;
  generations: number;
  succeeded: number;
  failed: number;
  canceled: number;
  plan_credits: number;
  topup_credits: number;
  refunded_credits: number;
  plan_revenue_cents: number;
  topup_revenue_cents: number;
  commission_cents: number;
  provider_cost_cents: number;
  timed: number;
  latency_ms_sum: number;
  latency_ms_max: number;
}

/** Name of an upstream with its model, as in `upstream_health`; empty for generations that were never submitted. */
export const UPSTREAM_NAME = `CASE WHEN upstream = '' THEN '' ELSE upstream || ':' || upstream_model END`;

/** Columns of `generation_hours` that are added up: the slices of an hour, and the hours of a range. */
export const GENERATION_SUMS = [
  'generations',
  'succeeded',
  'failed',
  'canceled',
  'plan_credits',
  'topup_credits',
  'refunded_credits',
  'plan_revenue_cents',
  'topup_revenue_cents',
  'commission_cents',
  'provider_cost_cents',
  'timed',
  'latency_ms_sum',
];

const GENERATION_SUM_COLUMNS = `${GENERATION_SUMS.map((name) => `cast(sum(${name}) AS float8) AS ${name}`).join(', ')},
          cast(max(latency_ms_max) AS float8) AS latency_ms_max`;

const READ_GENERATION_SUMS = prepared(
  'read_generation_sums',
  `SELECT hour >= :since AS is_current, model, ${UPSTREAM_NAME} AS upstream, plan, ${GENERATION_SUM_COLUMNS}
     FROM generation_hours WHERE hour >= :previousSince AND hour < :until GROUP BY 1, 2, 3, 4`,
);

export async function readGenerationSums({ since, previousSince, until }: ReportRange): Promise<GenerationSum[]> {
  await loadReleasedModels();
  return runStatement<GenerationSum>(READ_GENERATION_SUMS, { since, previousSince, until });
}

/** Sum of a staff metric by label; see docs/metrics.md. */
export interface DailySum extends PeriodRow {
  metric: string;
  label: string;
  count: number;
  amount: number;
}

const READ_DAILY_SUMS = prepared(
  'read_daily_metric_sums',
  `SELECT day >= cast(:from AS date) AS is_current, metric, label, cast(sum(count) AS float8) AS count,
          cast(sum(amount) AS float8) AS amount
     FROM (SELECT metric, label, day, count, amount FROM metric_days
            WHERE day >= cast(:previousFrom AS date) AND day < cast(:until AS date)
            UNION ALL
           SELECT metric, label, day, count, amount FROM metric_deltas
            WHERE day >= cast(:previousFrom AS date) AND day < cast(:until AS date)) days
    WHERE metric = ANY (cast(:metrics AS text[])) GROUP BY 1, 2, 3`,
);

/** Reads sums of the staff metrics, rolled up or not. The range must consist of days. */
export function readDailySums(range: ReportRange, metrics: string[]): Promise<DailySum[]> {
  return runStatement<DailySum>(READ_DAILY_SUMS, {
    from: formatUtcDay(range.since),
    previousFrom: formatUtcDay(range.previousSince),
    until: formatUtcDay(range.until),
    metrics,
  });
}

const READ_TOTALS = prepared(
  'read_metric_totals',
  `SELECT true AS is_current, metric, label, cast(sum(count) AS float8) AS count, cast(sum(amount) AS float8) AS amount
     FROM (SELECT metric, label, count, amount FROM metric_totals
            UNION ALL SELECT metric, label, count, amount FROM metric_deltas) totals
    WHERE metric = ANY (cast(:metrics AS text[])) GROUP BY 2, 3`,
);

/** Reads the current value of staff metrics that describe a state, such as active subscriptions. */
export function readMetricTotals(metrics: string[]): Promise<DailySum[]> {
  return runStatement<DailySum>(READ_TOTALS, { metrics });
}

/** Adds up the count of a metric, of one label or of all. */
export function countMetric(rows: readonly DailySum[], metric: string, label?: string): number {
  return sumBy(
    rows.filter((row) => row.metric === metric && (label === undefined || row.label === label)),
    ({ count }) => count,
  );
}
