import { listLastUtcDays } from '../../lib/calendar.ts';
import { now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/db.ts';
import { MODELS, getModelBySlug } from '../../spec/catalog.ts';
import { METRIC_DAYS } from '../../spec/limits.ts';
import { type Plan, PLANS, getPlanBySlug } from '../../spec/plans.ts';
import { ONBOARDING_STEPS, type OnboardingStep } from '../../spec/states.ts';

/** What was on one UTC day. */
export interface DailyMetrics {
  /** YYYY-MM-DD. */
  date: string;
  signups: number;
  newSubscriptions: number;
  /** Of the generations created on that day, less refunds. */
  creditsUsed: number;
  /** Of the same generations; cents with fractions. */
  providerCostCents: number;
  /** A year of the subscriptions that began, and top-ups less what was reversed; cents. */
  salesCents: number;
}

export interface StaffMetrics {
  generatedAt: Date;
  users: { total: number; newIn30Days: number; onboarding: Record<OnboardingStep, number> };
  subscriptions: {
    activeTotal: number;
    cancelAtPeriodEnd: number;
    byPlan: { plan: Plan; count: number; yearlyCents: number }[];
  };
  revenue: { runRateYearlyCents: number; effectiveMonthlyCents: number; topups30DaysCents: number };
  costs: { provider30DaysCents: number; perActiveUserMonthlyCents: number };
  margins: { monthlyRevenueCents: number; monthlyCostCents: number; grossMarginPercent: number };
  /** The last 30 UTC days, today last. */
  daily: DailyMetrics[];
  /** Since the service began. */
  byModel: ModelMetrics[];
  /** The same for the generations created in the last 30 days. */
  byModelIn30Days: ModelMetrics[];
}

export interface ModelMetrics {
  name: string;
  generations: number;
  /** Less refunds. */
  credits: number;
  providerCostCents: number;
}

/** Of a metric and its label: on a day, or since the service began where that is null. */
interface MetricSum {
  metric: 'accounts' | 'subscriptions' | 'canceling' | 'begun' | 'topups' | 'usage' | 'cost';
  label: string;
  day: string | null;
  times: number;
  amount: number;
}

/**
 * The sums as they are at this moment: what has been folded, and what has not been yet. How much there is to read
 * depends on the number of days, models and plans, not on how much has happened.
 */
const READ_METRIC_SUMS = prepared(
  'staff_metrics',
  `SELECT metric, label, to_char(day, 'YYYY-MM-DD') AS day, cast(sum(times) AS float8) AS times,
          cast(sum(amount) AS float8) AS amount
     FROM (SELECT metric, label, day, times, amount FROM metric_days WHERE day > cast(:before AS date)
            UNION ALL
           SELECT metric, label, day, times, amount FROM metric_deltas WHERE day > cast(:before AS date)) days
    GROUP BY metric, label, days.day
    UNION ALL
   SELECT metric, label, NULL, cast(sum(times) AS float8), cast(sum(amount) AS float8)
     FROM (SELECT metric, label, times, amount FROM metric_totals
            UNION ALL
           SELECT metric, label, times, amount FROM metric_deltas) totals
    GROUP BY metric, label`,
);

/** What staff see of the whole service (spec: Admin metrics); every formula is in docs/metrics.md. */
export async function getStaffMetrics(): Promise<StaffMetrics> {
  const generatedAt = now();
  // One more, for what lies before the first day that counts.
  const [before, ...days] = listLastUtcDays(generatedAt, METRIC_DAYS + 1);
  const sums = await runStatement<MetricSum>(READ_METRIC_SUMS, { before });
  const totals = sums.filter(({ day }) => day === null);
  const recent = sums.filter(({ day }) => day !== null);

  const byPlan = PLANS.map((plan) => {
    const count = sumCounts(totals, 'subscriptions', plan.slug);
    return { plan, count, yearlyCents: count * plan.priceYearlyCents };
  });
  const activeTotal = sumCounts(totals, 'subscriptions');
  const runRateYearlyCents = byPlan.reduce((sum, { yearlyCents }) => sum + yearlyCents, 0);
  const effectiveMonthlyCents = Math.round(runRateYearlyCents / 12);
  const topups30DaysCents = sumAmounts(recent, 'topups');
  const provider30DaysCents = Math.round(sumAmounts(recent, 'cost'));
  const monthlyRevenueCents = effectiveMonthlyCents + topups30DaysCents;
  return {
    generatedAt,
    users: {
      total: sumCounts(totals, 'accounts'),
      newIn30Days: sumCounts(recent, 'accounts'),
      onboarding: Object.fromEntries(
        ONBOARDING_STEPS.map((step) => [step, sumCounts(totals, 'accounts', step)]),
      ) as Record<OnboardingStep, number>,
    },
    subscriptions: { activeTotal, cancelAtPeriodEnd: sumCounts(totals, 'canceling'), byPlan },
    revenue: { runRateYearlyCents, effectiveMonthlyCents, topups30DaysCents },
    costs: {
      provider30DaysCents,
      perActiveUserMonthlyCents: activeTotal === 0 ? 0 : Math.round(provider30DaysCents / activeTotal),
    },
    margins: {
      monthlyRevenueCents,
      monthlyCostCents: provider30DaysCents,
      grossMarginPercent: computeGrossMarginPercent(monthlyRevenueCents, provider30DaysCents),
    },
    daily: buildDailyMetrics(recent, days),
    byModel: buildModelMetrics(totals),
    byModelIn30Days: buildModelMetrics(recent),
  };
}

function buildModelMetrics(sums: MetricSum[]): ModelMetrics[] {
  return MODELS.map(({ slug }) => ({
    name: getModelBySlug(slug).name,
    generations: sumCounts(sums, 'usage', slug),
    credits: sumAmounts(sums, 'usage', slug),
    providerCostCents: Math.round(sumAmounts(sums, 'cost', slug)),
  }));
}

/** What of the revenue is left, in per cent with one decimal; 0 where there is no revenue to be left of. */
export function computeGrossMarginPercent(revenueCents: number, costCents: number): number {
  if (revenueCents <= 0) return 0;
  return Math.round((1_000 * (revenueCents - costCents)) / revenueCents) / 10;
}

function buildDailyMetrics(sums: MetricSum[], days: string[]): DailyMetrics[] {
  const byDay = groupByDay(sums);
  return days.map((date) => {
    const daySums = byDay.get(date) ?? [];
    const begun = daySums.filter(({ metric }) => metric === 'begun');
    const yearsCents = begun.reduce((sum, { label, times }) => sum + times * getPlanBySlug(label).priceYearlyCents, 0);
    return {
      date,
      signups: sumCounts(daySums, 'accounts'),
      newSubscriptions: sumCounts(daySums, 'begun'),
      creditsUsed: sumAmounts(daySums, 'usage'),
      providerCostCents: sumAmounts(daySums, 'cost'),
      salesCents: yearsCents + sumAmounts(daySums, 'topups'),
    };
  });
}

function sumCounts(sums: MetricSum[], metric: MetricSum['metric'], label?: string): number {
  return filterSums(sums, metric, label).reduce((sum, { times }) => sum + times, 0);
}

function sumAmounts(sums: MetricSum[], metric: MetricSum['metric'], label?: string): number {
  return filterSums(sums, metric, label).reduce((sum, { amount }) => sum + amount, 0);
}

function filterSums(sums: MetricSum[], metric: MetricSum['metric'], label?: string): MetricSum[] {
  return sums.filter((sum) => sum.metric === metric && (label === undefined || sum.label === label));
}

function groupByDay(sums: MetricSum[]): Map<string | null, MetricSum[]> {
  const groups = new Map<string | null, MetricSum[]>();
  for (const sum of sums) groups.set(sum.day, [...(groups.get(sum.day) ?? []), sum]);
  return groups;
}
