import { getStaffMetrics, type StaffMetrics } from '../../../shared/domain/reports/staffMetrics.ts';
import { getExampleRequest } from '../../../shared/lib/catalog/exampleRequests.ts';
import { getExamplePlan } from '../../../shared/lib/catalog/catalog.ts';
import { EXAMPLE_TIMESTAMP } from '../../openapi/examples.ts';
import type { Feature } from '../feature.ts';
import { defineEndpoint } from '../../pipeline/endpoint.ts';
import { getMetricsResponse } from './schemas.ts';
import type { Static } from 'typebox';

const getExampleMetrics = () => ({
  generated_at: EXAMPLE_TIMESTAMP,
  users: { total: 120, new_30d: 14, onboarding: { profile: 20, plan: 30, complete: 70 } },
  subscriptions: {
    active_total: 64,
    cancel_at_period_end: 2,
    by_plan: [{ slug: getExamplePlan().slug, name: getExamplePlan().name, count: 64, yearly_cents: 2_227_200 }],
  },
  revenue: { run_rate_yearly_cents: 2_227_200, effective_monthly_cents: 185_600, topups_30d_cents: 25_000 },
  costs: { provider_30d_cents: 41_200, per_active_user_monthly_cents: 644 },
  margins: { monthly_revenue_cents: 210_600, monthly_cost_cents: 41_200, gross_margin_pct: 80.4 },
  daily: [{ date: '2026-11-21', signups: 2, new_subscriptions: 1, credits_used: 840, provider_cost_cents: 1_310 }],
  by_model: [{ model: getExampleRequest().model.name, generations: 900, credits: 7_200, provider_cost_cents: 3_600 }],
});

export const ADMIN: Feature = {
  tag: { name: 'Staff', description: 'For the staff of the service.' },
  schemas: () => ({ Metrics: getMetricsResponse() }),
  endpoints: [
    defineEndpoint({
      id: 'getMetrics',
      route: 'GET /api/admin/metrics/',
      policy: { permission: 'viewDashboard' },
      summary: 'Get the staff metrics',
      response: () => ({
        description: 'Accounts, subscriptions, revenue and costs, in total and for the last 30 days.',
        schema: getMetricsResponse(),
        example: getExampleMetrics(),
      }),
      run: async () => presentMetrics(await getStaffMetrics()),
    }),
  ],
};

/** Presents the staff metrics. Money is in whole cents; provider costs are stored with fractions and rounded here. */
function presentMetrics(metrics: StaffMetrics): Static<ReturnType<typeof getMetricsResponse>> {
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
