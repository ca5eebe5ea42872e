import Type from 'typebox';
import { getPlanSlugs } from '../../../shared/lib/catalog/catalog.ts';
import { perService } from '../../../shared/lib/serviceScope.ts';
import { Timestamp } from '../../../shared/presenters/fields.ts';

/** Provider costs are stored with fractions of cents; their sums are rounded to whole cents. */
const CostCents = Type.Integer({ description: 'Cents, rounded' });

export const getMetricsResponse = perService(() =>
  Type.Object({
    generated_at: Timestamp,
    users: Type.Object({
      total: Type.Integer(),
      new_30d: Type.Integer(),
      onboarding: Type.Object({ profile: Type.Integer(), plan: Type.Integer(), complete: Type.Integer() }),
    }),
    subscriptions: Type.Object({
      active_total: Type.Integer(),
      cancel_at_period_end: Type.Integer(),
      by_plan: Type.Array(
        Type.Object({
          slug: Type.Enum(getPlanSlugs()),
          name: Type.String(),
          count: Type.Integer(),
          yearly_cents: Type.Integer(),
        }),
      ),
    }),
    revenue: Type.Object({
      run_rate_yearly_cents: Type.Integer(),
      effective_monthly_cents: Type.Integer(),
      topups_30d_cents: Type.Integer(),
    }),
    costs: Type.Object({ provider_30d_cents: CostCents, per_active_user_monthly_cents: CostCents }),
    margins: Type.Object({
      monthly_revenue_cents: Type.Integer(),
      monthly_cost_cents: CostCents,
      gross_margin_pct: Type.Number({ description: 'One decimal; 0 where there is no revenue' }),
    }),
    daily: Type.Array(
      Type.Object({
        date: Type.String({ format: 'date' }),
        signups: Type.Integer(),
        new_subscriptions: Type.Integer(),
        credits_used: Type.Integer(),
        provider_cost_cents: CostCents,
      }),
    ),
    by_model: Type.Array(
      Type.Object({
        model: Type.String(),
        generations: Type.Integer(),
        credits: Type.Integer(),
        provider_cost_cents: CostCents,
      }),
    ),
  }),
);
