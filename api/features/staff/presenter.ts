import type { Static } from 'typebox';
import type { StaffMetrics } from '../../../shared/domain/reports/staffMetrics.ts';
import type { getMetricsResponse } from './schemas.ts';

/** Presents the staff metrics. Money is in whole cents; provider costs are stored with fractions and rounded here. */
export function presentMetrics(metrics: StaffMetrics): Static<ReturnType<typeof getMetricsResponse>> {
  const { users, subscriptions, revenue, costs, margins } = metrics;
  return {
    generated_at: metrics.generatedAt,
    users: { total: users.total, new_30d: users.newIn30Days, onboarding: users.onboarding },
    subscriptions: {
      active_total: subscriptions.activeTotal,
      cancel_at_period_end: subscriptions.cancelAtPeriodEnd,
      by_plan: subscriptions.byPlan.map(({ plan, count, yearlyCents }) => ({
        slug: plan.slug,
        name: plan.name,
        count,
        yearly_cents: yearlyCents,
      })),
    },
    revenue: {
      run_rate_yearly_cents: revenue.runRateYearlyCents,
      effective_monthly_cents: revenue.effectiveMonthlyCents,
      topups_30d_cents: revenue.topups30DaysCents,
    },
    costs: {
      provider_30d_cents: costs.provider30DaysCents,
      per_active_user_monthly_cents: costs.perActiveUserMonthlyCents,
    },
    margins: {
      monthly_revenue_cents: margins.monthlyRevenueCents,
      monthly_cost_cents: margins.monthlyCostCents,
      gross_margin_pct: margins.grossMarginPercent,
    },
    daily: metrics.daily.map((day) => ({
      date: day.date,
      signups: day.signups,
      new_subscriptions: day.newSubscriptions,
      credits_used: day.creditsUsed,
      provider_cost_cents: Math.round(day.providerCostCents),
    })),
    by_model: metrics.byModel.map((model) => ({
      model: model.name,
      generations: model.generations,
      credits: model.credits,
      provider_cost_cents: model.providerCostCents,
    })),
  };
}
