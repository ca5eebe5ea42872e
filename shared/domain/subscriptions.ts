import { now } from '../lib/clock.ts';
import { type Plan, planBySlug } from '../spec/plans.ts';
import { Account } from '../tables/Account.ts';
import { Subscription } from '../tables/Subscription.ts';
import { processor } from '../gateways/payments/index.ts';

/** The one payment processor (docs/decisions.md: Billing). */
export const PROCESSOR = 'stripe';

export interface BillingStatus {
  plan: Plan | null;
  /** `none` where there never was a subscription. */
  status: Subscription['status'] | 'none';
  currentPeriodEnd: Date | null;
  cancelAtPeriodEnd: boolean;
  hasPaymentMethod: boolean;
}

/** Where an account stands with its subscription: the one that it lives under, or the last one it had. */
export async function billingStatus(accountId: number): Promise<BillingStatus> {
  const account = await Account.query().findById(accountId).throwIfNotFound();
  const subscriptions = Subscription.query().where({ account_id: accountId });
  const latest = await subscriptions.orderByRaw(`(id = ?) DESC NULLS LAST, id DESC`, [account.subscription_id]).first();
  const plan = activePlan(account);
  const isOver = plan === null && (latest?.status === 'active' || latest?.status === 'past_due');
  return {
    plan,
    status: isOver ? 'canceled' : (latest?.status ?? 'none'),
    currentPeriodEnd: latest?.current_period_end ?? null,
    cancelAtPeriodEnd: latest?.cancel_at_period_end ?? false,
    hasPaymentMethod: hasPaymentMethod(account),
  };
}

/** Whether automatic top-ups could be charged. Without a processor nothing is missing for that. */
export function hasPaymentMethod(account: Account): boolean {
  return processor === null || account.has_payment_method;
}

/** The plan that an account may spend under right now, or null. */
export function activePlan(account: Account, at: Date = now()): Plan | null {
  if (account.plan_slug === null || account.spend_until === null || account.spend_until <= at) return null;
  return planBySlug(account.plan_slug);
}
