import { lastDays } from '../../lib/calendar.ts';
import { now } from '../../lib/clock.ts';
import { prepared, run } from '../../lib/db.ts';
import { MODELS, modelBySlug } from '../../spec/catalog.ts';
import { METRIC_DAYS } from '../../spec/limits.ts';
import { type Plan, PLANS, planBySlug } from '../../spec/plans.ts';
import { ONBOARDING_STEPS, type OnboardingStep } from '../../spec/states.ts';

/** What was on one UTC day. */
export interface MetricDay {
  /** YYYY-MM-DD. */
  date: string;
  signups: number;
  newSubscriptions: number;
  /** Of the generations created on that day, less refunds. */
  creditsUsed: number;
  /** Of the same generations; cents with fractions. */
  providerCostCents: number;
  /** A year of the subscriptions that began, and top-ups less what was reversed; cents. */
  soldCents: number;
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
  daily: MetricDay[];
  /** Since the service began. */
  byModel: ModelSums[];
  /** The same for the generations created in the last 30 days. */
  byModelIn30Days: ModelSums[];
}

export interface ModelSums {
  name: string;
  generations: number;
  /** Less refunds. */
  credits: number;
  providerCostCents: number;
}

/** Of a metric and its label: on a day, or since the service began where that is null. */
interface Sum {
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
const SUMS = prepared(
  'staff_metrics',
  `SELECT metric, label, to_char(day, 'YYYY-MM-DD') AS day, cast(sum(times) AS float8) AS times,
          cast(sum(amount) AS float8) AS amount
     FROM (SELECT metric, label, day, times, amount FROM metric_days WHERE day > cast(:before AS date)
            UNION ALL
           SELECT metric, label, day, times, amount FROM metric_gains WHERE day > cast(:before AS date)) days
    GROUP BY metric, label, days.day
    UNION ALL
   SELECT metric, label, NULL, cast(sum(times) AS float8), cast(sum(amount) AS float8)
     FROM (SELECT metric, label, times, amount FROM metric_totals
            UNION ALL
           SELECT metric, label, times, amount FROM metric_gains) totals
    GROUP BY metric, label`,
);

/** What staff see of the whole service (spec: Admin metrics); every formula is in docs/metrics.md. */
export async function staffMetrics(): Promise<StaffMetrics> {
  const generatedAt = now();
  // One more, for what lies before the first day that counts.
  const [before, ...days] = lastDays(generatedAt, METRIC_DAYS + 1);
  const sums = await run<Sum>(SUMS, { before });
  const totals = sums.filter(({ day }) => day === null);
  const lately = sums.filter(({ day }) => day !== null);

  const byPlan = PLANS.map((plan) => {
    const count = timesOf(totals, 'subscriptions', plan.slug);
    return { plan, count, yearlyCents: count * plan.priceYearlyCents };
  });
  const activeTotal = timesOf(totals, 'subscriptions');
  const runRateYearlyCents = byPlan.reduce((sum, { yearlyCents }) => sum + yearlyCents, 0);
  const effectiveMonthlyCents = Math.round(runRateYearlyCents / 12);
  const topups30DaysCents = amountOf(lately, 'topups');
  const provider30DaysCents = Math.round(amountOf(lately, 'cost'));
  const monthlyRevenueCents = effectiveMonthlyCents + topups30DaysCents;
  return {
    generatedAt,
    users: {
      total: timesOf(totals, 'accounts'),
      newIn30Days: timesOf(lately, 'accounts'),
      onboarding: Object.fromEntries(
        ONBOARDING_STEPS.map((step) => [step, timesOf(totals, 'accounts', step)]),
      ) as Record<OnboardingStep, number>,
    },
    subscriptions: { activeTotal, cancelAtPeriodEnd: timesOf(totals, 'canceling'), byPlan },
    revenue: { runRateYearlyCents, effectiveMonthlyCents, topups30DaysCents },
    costs: {
      provider30DaysCents,
      perActiveUserMonthlyCents: activeTotal === 0 ? 0 : Math.round(provider30DaysCents / activeTotal),
    },
    margins: {
      monthlyRevenueCents,
      monthlyCostCents: provider30DaysCents,
      grossMarginPercent: grossMarginPercent(monthlyRevenueCents, provider30DaysCents),
    },
    daily: dailyOf(lately, days),
    byModel: byModel(totals),
    byModelIn30Days: byModel(lately),
  };
}

function byModel(sums: Sum[]): ModelSums[] {
  return MODELS.map(({ slug }) => ({
    name: modelBySlug(slug).name,
    generations: timesOf(sums, 'usage', slug),
    credits: amountOf(sums, 'usage', slug),
    providerCostCents: Math.round(amountOf(sums, 'cost', slug)),
  }));
}

/** What of the revenue is left, in per cent with one decimal; 0 where there is no revenue to be left of. */
export function grossMarginPercent(revenueCents: number, costCents: number): number {
  if (revenueCents <= 0) return 0;
  return Math.round((1_000 * (revenueCents - costCents)) / revenueCents) / 10;
}

function dailyOf(sums: Sum[], days: string[]): MetricDay[] {
  const byDay = groupByDay(sums);
  return days.map((date) => {
    const ofDay = byDay.get(date) ?? [];
    const begun = ofDay.filter(({ metric }) => metric === 'begun');
    const yearsCents = begun.reduce((sum, { label, times }) => sum + times * planBySlug(label).priceYearlyCents, 0);
    return {
      date,
      signups: timesOf(ofDay, 'accounts'),
      newSubscriptions: timesOf(ofDay, 'begun'),
      creditsUsed: amountOf(ofDay, 'usage'),
      providerCostCents: amountOf(ofDay, 'cost'),
      soldCents: yearsCents + amountOf(ofDay, 'topups'),
    };
  });
}

function timesOf(sums: Sum[], metric: Sum['metric'], label?: string): number {
  return matching(sums, metric, label).reduce((sum, { times }) => sum + times, 0);
}

function amountOf(sums: Sum[], metric: Sum['metric'], label?: string): number {
  return matching(sums, metric, label).reduce((sum, { amount }) => sum + amount, 0);
}

function matching(sums: Sum[], metric: Sum['metric'], label?: string): Sum[] {
  return sums.filter((sum) => sum.metric === metric && (label === undefined || sum.label === label));
}

function groupByDay(sums: Sum[]): Map<string | null, Sum[]> {
  const groups = new Map<string | null, Sum[]>();
  for (const sum of sums) groups.set(sum.day, [...(groups.get(sum.day) ?? []), sum]);
  return groups;
}
