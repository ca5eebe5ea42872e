import { COMMISSION_PERCENT } from '../../spec/limits.ts';
import { getModelName, getPlanName } from './labels.ts';
import {
  buildTable,
  type ComputedMeasure,
  percent,
  type ReportDefinition,
  type ReportRange,
  type ReportTable,
  sumBy,
  measureSum,
} from './report.ts';
import { type GenerationSum, readGenerationSums } from './sums.ts';

/** Revenue, cost and margin of the credits that were used. */
export const marginReport: ReportDefinition = {
  slug: 'margin',
  title: 'Margin by model and plan',
  summary: 'What used credits earned and cost, by model and by plan.',
  definition: [
    'Counts the credits of generations created in the range, without failed ones, which were refunded. Refunds by staff are not subtracted. Unused credits are not revenue here, so the sum differs from what was charged to cards.',
    'Plan revenue: plan credits at the rate of the plan that the account had when they were summed, which is its monthly price divided by its monthly credits.',
    'Top-up revenue: other credits at the average rate of the paid top-ups of the account, less reversals. Goodwill credits of an account without top-ups earn nothing.',
    `Commissions: ${COMMISSION_PERCENT} % of the plan revenue of accounts that an affiliate referred, as their credits are used; the affiliate report counts them when invoices are paid.`,
    'Margin: revenue less provider cost and commissions. Fees of the payment processor, taxes and discounts are not included.',
  ],
  defaultRange: 'last 30 days',
  build: buildMarginTables,
};

const sumCredits = (rows: readonly GenerationSum[]) => sumBy(rows, 'plan_credits', 'topup_credits');
const sumRevenue = (rows: readonly GenerationSum[]) => sumBy(rows, 'plan_revenue_cents', 'topup_revenue_cents');
const sumMargin = (rows: readonly GenerationSum[]) =>
  sumRevenue(rows) - sumBy(rows, 'provider_cost_cents', 'commission_cents');

/** Cents are rounded once, at the end, so that rows add up to the total but for a cent each. */
const MEASURES: readonly ComputedMeasure<GenerationSum>[] = [
  measureSum('generations', 'Generations'),
  measureSum('plan_credits', 'Plan credits'),
  measureSum('topup_credits', 'Top-up credits'),
  { key: 'credits', label: 'Credits used', unit: 'count', compute: sumCredits },
  measureSum('plan_revenue_cents', 'Plan revenue', 'cents'),
  measureSum('topup_revenue_cents', 'Top-up revenue', 'cents'),
  { key: 'revenue_cents', label: 'Revenue', unit: 'cents', compute: (rows) => Math.round(sumRevenue(rows)) },
  measureSum('provider_cost_cents', 'Provider cost', 'cents'),
  measureSum('commission_cents', 'Commissions', 'cents'),
  { key: 'margin_cents', label: 'Margin', unit: 'cents', compute: (rows) => Math.round(sumMargin(rows)) },
  {
    key: 'margin_percent',
    label: 'Margin, share of revenue',
    unit: 'percent',
    compute: (rows) => (sumRevenue(rows) <= 0 ? null : percent(sumMargin(rows), sumRevenue(rows))),
  },
];

async function buildMarginTables(range: ReportRange): Promise<ReportTable[]> {
  const sums = await readGenerationSums(range);
  return [
    buildTable({
      key: 'models',
      title: 'By model',
      note: 'All plans together.',
      dimensions: [{ key: 'model', label: 'Model' }],
      measures: MEASURES,
      rows: sums,
      getLabels: ({ model }) => [getModelName(model)],
    }),
    buildTable({
      key: 'plans',
      title: 'By plan',
      note: 'All models together.',
      dimensions: [{ key: 'plan', label: 'Plan' }],
      measures: MEASURES,
      rows: sums,
      getLabels: ({ plan }) => [getPlanName(plan)],
    }),
  ];
}
