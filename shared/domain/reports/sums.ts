import { loadReleasedModels } from '../catalog/knownModels.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { describeUpstream, getModelName } from './labels.ts';
import { type ComputedMeasure, type PeriodRow, percent, type ReportRange, sumBy, measureSum } from './report.ts';

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

export const UPSTREAM_DIMENSIONS = [
  { key: 'upstream', label: 'Upstream' },
  { key: 'model', label: 'Model' },
];

/** Labels of a row in {@link UPSTREAM_DIMENSIONS}. */
export const describeUpstreamAndModel = ({ upstream, model }: Pick<GenerationSum, 'upstream' | 'model'>): string[] => [
  describeUpstream(upstream),
  getModelName(model),
];

/** The ends of generations. Those that their owners canceled are no failures. */
export const OUTCOME_MEASURES: readonly ComputedMeasure<
  Pick<GenerationSum, 'generations' | 'succeeded' | 'failed' | 'canceled'>
>[] = [
  measureSum('generations', 'Generations'),
  measureSum('failed', 'Failed'),
  {
    key: 'failure_rate_percent',
    label: 'Failure rate',
    unit: 'percent',
    compute: (rows) => percent(sumBy(rows, 'failed'), sumBy(rows, 'failed', 'succeeded')),
  },
  measureSum('canceled', 'Canceled'),
];

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
