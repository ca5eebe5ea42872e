import type { Knex } from 'knex';
import { listOtherModels } from '../../lib/catalog/knownModels.ts';
import { loadReleasedModels } from '../catalog/knownModels.ts';
import { getCatalog, getPlanBySlug } from '../../lib/catalog/catalog.ts';
import { listLastUtcDays } from '../../lib/calendar.ts';
import { now } from '../../lib/clock.ts';
import { db } from '../../lib/database/pool.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { METRIC_DAYS } from '../../spec/limits.ts';
import type { Plan } from '../../spec/plans.ts';
import { ONBOARDING_STEPS, type OnboardingStep } from '../../spec/states.ts';
import { findSummedHours } from './generationHours.ts';

/** Sums of one UTC day. */
export interface DailyMetrics {
  /** YYYY-MM-DD. */
  date: string;
  signups: number;
  newSubscriptions: number;
  /** Credits of the generations created on that day, less refunds. */
  creditsUsed: number;
  /** Cost of the same generations, in cents with fractions. */
  providerCostCents: number;
  /** The first year of the subscriptions started on that day, and its top-ups less reversals, in cents. */
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
  /** Totals since the service started. */
  byModel: ModelMetrics[];
  /** The same for the generations created in the last 30 days. */
  byModelIn30Days: ModelMetrics[];
}

export interface ModelMetrics {
  name: string;
  generations: number;
  /** Credits charged, less refunds. */
  credits: number;
  providerCostCents: number;
}

/** The sum of a metric and label: of one of the last days, or of all days before them where `day` is null. */
interface MetricSum {
  metric: 'accounts' | 'signups' | 'subscriptions' | 'started' | 'topups' | 'usage' | 'cost';
  label: string;
  day: string | null;
  count: number;
  amount: number;
}

/** Selects the UTC day of a moment as `day`: null before the first one of the last days. */
const selectDay = (column: string) =>
  `CASE WHEN ${column} >= :since THEN (${column} AT TIME ZONE 'UTC')::date END AS day`;

/**
 * Counts in one snapshot, each metric by an index. Usage is that of the hourly sums and of the generations created
 * since then, less the refunds by staff, which the sums do not subtract.
 */
const READ_METRIC_SUMS = prepared(
  'read_metric_sums',
  `SELECT metric, label, to_char(day, 'YYYY-MM-DD') AS day, cast(sum(count) AS float8) AS count,
          cast(sum(amount) AS float8) AS amount
     FROM (SELECT 'accounts' AS metric, onboarding_step AS label, cast(NULL AS date) AS day, count(*) AS count, 0 AS amount
             FROM accounts WHERE live_account_id IS NULL GROUP BY 2
            UNION ALL
           SELECT 'signups', '', ${selectDay('created_at')}, count(*), 0
             FROM accounts WHERE live_account_id IS NULL AND created_at >= :since GROUP BY 3
            UNION ALL
           -- The amount is the number of those that will not be renewed.
           SELECT 'subscriptions', plan_slug, NULL, count(*), count(*) FILTER (WHERE cancel_at_period_end)
             FROM subscriptions WHERE status IN ('active', 'past_due') GROUP BY 2
            UNION ALL
           SELECT 'started', plan_slug, ${selectDay('activated_at')}, count(*), 0
             FROM subscriptions WHERE activated_at >= :since GROUP BY 2, 3
            UNION ALL
           SELECT 'topups', kind, ${selectDay('completed_at')}, count(*), sum(kept_cents)
             FROM topups WHERE status = 'succeeded' AND completed_at >= :since GROUP BY 2, 3
            UNION ALL
           SELECT metric, model, day, count, amount
             FROM (SELECT model, ${selectDay('hour')}, sum(generations) AS generations, sum(plan_credits + topup_credits) AS credits,
                          sum(provider_cost_cents) AS cents
                     FROM generation_hours WHERE hour < :summedUntil AND (NOT is_open OR :includesOpen) GROUP BY 1, 2
                    UNION ALL
                   SELECT model, ${selectDay('created_at')}, count(*), sum(CASE WHEN status = 'failed' THEN 0 ELSE credits_charged END),
                          coalesce(sum(provider_cost_cents), 0)
                     FROM generations WHERE uuid >= :first AND NOT is_test GROUP BY 1, 2
                    UNION ALL
                   SELECT model, ${selectDay('created_at')}, 0, -sum(credits_charged), 0
                     FROM generations WHERE refunded_at IS NOT NULL GROUP BY 1, 2) used
            CROSS JOIN LATERAL (VALUES ('usage', generations, credits), ('cost', 0, cents)) AS m (metric, count, amount)
          ) sums
    GROUP BY metric, label, sums.day`,
);

/** Returns the service-wide metrics for staff (spec: Admin metrics). docs/metrics.md has every formula. */
export async function getStaffMetrics(): Promise<StaffMetrics> {
  await loadReleasedModels();
  const generatedAt = now();
  const days = listLastUtcDays(generatedAt, METRIC_DAYS);
  const since = new Date(days[0] as string);
  const totals = await db.transaction(
    async (transaction: Knex.Transaction) =>
      runStatement<MetricSum>(READ_METRIC_SUMS, { since, ...(await findSummedHours(transaction)) }, transaction),
    // Sums that become final in between would count twice.
    { isolationLevel: 'repeatable read', readOnly: true },
  );
  const recent = totals.filter(({ day }) => day !== null);

  const byPlan = getCatalog().plans.map((plan) => {
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
      newIn30Days: sumCounts(recent, 'signups'),
      onboarding: Object.fromEntries(
        ONBOARDING_STEPS.map((step) => [step, sumCounts(totals, 'accounts', step)]),
      ) as Record<OnboardingStep, number>,
    },
    subscriptions: { activeTotal, cancelAtPeriodEnd: sumAmounts(totals, 'subscriptions'), byPlan },
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

/** Sums the models of the catalog, and others that have generations. */
function buildModelMetrics(sums: MetricSum[]): ModelMetrics[] {
  const used = listOtherModels().filter(({ slug }) => sumCounts(sums, 'usage', slug) > 0);
  return [...getCatalog().models, ...used].map(({ slug, name }) => ({
    name,
    generations: sumCounts(sums, 'usage', slug),
    credits: sumAmounts(sums, 'usage', slug),
    providerCostCents: Math.round(sumAmounts(sums, 'cost', slug)),
  }));
}

/** Gross margin in percent with one decimal; 0 without revenue. */
function computeGrossMarginPercent(revenueCents: number, costCents: number): number {
  if (revenueCents <= 0) return 0;
  return Math.round((1_000 * (revenueCents - costCents)) / revenueCents) / 10;
}

function buildDailyMetrics(sums: MetricSum[], days: string[]): DailyMetrics[] {
  return days.map((date) => {
    const daySums = sums.filter(({ day }) => day === date);
    const started = daySums.filter(({ metric }) => metric === 'started');
    const yearsCents = started.reduce(
      (sum, { label, count }) => sum + count * getPlanBySlug(label).priceYearlyCents,
      0,
    );
    return {
      date,
      signups: sumCounts(daySums, 'signups'),
      newSubscriptions: sumCounts(daySums, 'started'),
      creditsUsed: sumAmounts(daySums, 'usage'),
      providerCostCents: sumAmounts(daySums, 'cost'),
      salesCents: yearsCents + sumAmounts(daySums, 'topups'),
    };
  });
}

function sumCounts(sums: MetricSum[], metric: MetricSum['metric'], label?: string): number {
  return filterSums(sums, metric, label).reduce((sum, { count }) => sum + count, 0);
}

function sumAmounts(sums: MetricSum[], metric: MetricSum['metric'], label?: string): number {
  return filterSums(sums, metric, label).reduce((sum, { amount }) => sum + amount, 0);
}

function filterSums(sums: MetricSum[], metric: MetricSum['metric'], label?: string): MetricSum[] {
  return sums.filter((sum) => sum.metric === metric && (label === undefined || sum.label === label));
}
