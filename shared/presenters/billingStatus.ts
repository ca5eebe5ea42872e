import Type, { type Static } from 'typebox';
import { PROCESSOR_NAME } from '../gateways/payments/index.ts';
import { perService } from '../lib/serviceScope.ts';
import type { Plan, PlanSlug } from '../spec/plans.ts';
import { SUBSCRIPTION_STATUSES, type SubscriptionStatus } from '../spec/states.ts';
import { getAccountPlanSchema, timestampOrNull } from './fields.ts';

export const getBillingStatusResponse = perService(() =>
  Type.Object({
    plan: getAccountPlanSchema(),
    status: Type.Enum([...SUBSCRIPTION_STATUSES, 'none'], { description: 'none if there never was a subscription' }),
    interval: Type.String({ const: 'yearly' }),
    current_period_end: timestampOrNull(),
    cancel_at_period_end: Type.Boolean(),
    processor: Type.String({ description: 'The payment processor' }),
    has_payment_method: Type.Boolean({ description: 'Whether automatic top-ups can be switched on' }),
  }),
);

/** State of the subscription that an account uses, or of the last one that it had. */
export interface BillingStatus {
  plan: Plan | null;
  /** `none` if the account never had a subscription. */
  status: SubscriptionStatus | 'none';
  currentPeriodEnd: Date | null;
  cancelAtPeriodEnd: boolean;
  hasPaymentMethod: boolean;
}

/** Details of the event `subscription.updated`: the status after the change. */
export interface BillingStatusDetails {
  plan_slug: PlanSlug | null;
  status: SubscriptionStatus | 'none';
  current_period_end: string | null;
  cancel_at_period_end: boolean;
  has_payment_method: boolean;
}

export function presentBillingStatus(status: BillingStatus): Static<ReturnType<typeof getBillingStatusResponse>> {
  return {
    plan: status.plan && presentAccountPlan(status.plan),
    status: status.status,
    interval: 'yearly',
    current_period_end: status.currentPeriodEnd,
    cancel_at_period_end: status.cancelAtPeriodEnd,
    processor: PROCESSOR_NAME,
    has_payment_method: status.hasPaymentMethod,
  };
}

/** The plan of an account, as several resources contain it. */
export function presentAccountPlan(plan: Plan) {
  return { slug: plan.slug, name: plan.name, parallel_limit: plan.parallelLimit };
}
