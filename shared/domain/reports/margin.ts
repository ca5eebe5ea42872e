import { COMMISSION_PERCENT } from '../../spec/limits.ts';
import { getModelName, getPlanName } from './labels.ts';
import {
  groupRows,
  type Measure,
  percent,
  type ReportDefinition,
  type ReportRange,
  type ReportTable,
  sumBy,
  totalRow,
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

const MEASURES: readonly Measure[] = [
  { key: 'generations', label: 'Generations', unit: 'count' },
  { key: 'plan_credits', label: 'Plan credits', unit: 'count' },
  { key: 'topup_credits', label: 'Top-up credits', unit: 'count' },
  { key: 'credits', label: 'Credits used', unit: 'count' },
  { key: 'plan_revenue_cents', label: 'Plan revenue', unit: 'cents' },
  { key: 'topup_revenue_cents', label: 'Top-up revenue', unit: 'cents' },
  { key: 'revenue_cents', label: 'Revenue', unit: 'cents' },
  { key: 'provider_cost_cents', label: 'Provider cost', unit: 'cents' },
  { key: 'commission_cents', label: 'Commissions', unit: 'cents' },
  { key: 'margin_cents', label: 'Margin', unit: 'cents' },
  { key: 'margin_percent', label: 'Margin, share of revenue', unit: 'percent' },
];

async function buildMarginTables(range: ReportRange): Promise<ReportTable[]> {
  const sums = await readGenerationSums(range);
  const total = totalRow(sums, 1, computeMargin);
  return [
    {
      key: 'models',
      title: 'By model',
      note: 'All plans together.',
      dimensions: [{ key: 'model', label: 'Model' }],
      measures: MEASURES,
      rows: groupRows(sums, ({ model }) => [getModelName(model)], computeMargin),
      total,
    },
    {
      key: 'plans',
      title: 'By plan',
      note: 'All models together.',
      dimensions: [{ key: 'plan', label: 'Plan' }],
      measures: MEASURES,
      rows: groupRows(sums, ({ plan }) => [getPlanName(plan)], computeMargin),
      total,
    },
  ];
}

/** Cents are rounded once, at the end, so that rows add up to the total but for a cent each. */
function computeMargin(rows: GenerationSum[]): (number | null)[] {
  const planCredits = sumBy(rows, (row) => row.plan_credits);
  const topupCredits = sumBy(rows, (row) => row.topup_credits);
  const planRevenue = sumBy(rows, (row) => row.plan_revenue_cents);
  const topupRevenue = sumBy(rows, (row) => row.topup_revenue_cents);
  const cost = sumBy(rows, (row) => row.provider_cost_cents);
  const commissions = sumBy(rows, (row) => row.commission_cents);
  const revenue = planRevenue + topupRevenue;
  const margin = revenue - cost - commissions;
  return [
    sumBy(rows, (row) => row.generations),
    planCredits,
    topupCredits,
    planCredits + topupCredits,
    Math.round(planRevenue),
    Math.round(topupRevenue),
    Math.round(revenue),
    Math.round(cost),
    Math.round(commissions),
    Math.round(margin),
    revenue <= 0 ? null : percent(margin, revenue),
  ];
}
