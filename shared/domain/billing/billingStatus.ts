import { processor } from '../../gateways/payments/index.ts';
import { now } from '../../lib/clock.ts';
import { type Plan, getPlanBySlug } from '../../spec/plans.ts';
import { Account } from '../../tables/Account.ts';
import { Subscription } from '../../tables/Subscription.ts';

/** The one payment processor (docs/decisions.md: Billing). */
export const PROCESSOR_NAME = 'stripe';

export interface SubscriptionOverview {
  plan: Plan | null;
  /** `none` where there never was a subscription. */
  status: Subscription['status'] | 'none';
  currentPeriodEnd: Date | null;
  cancelAtPeriodEnd: boolean;
}

export interface BillingStatus extends SubscriptionOverview {
  hasPaymentMethod: boolean;
}

export async function getBillingStatus(accountId: number): Promise<BillingStatus> {
  const account = await Account.query().findById(accountId).throwIfNotFound();
  return { ...(await getSubscriptionOverview(account)), hasPaymentMethod: hasPaymentMethod(account) };
}

/** Where an account stands with its subscription: the one that it lives under, or the last one it had. */
export async function getSubscriptionOverview(account: Account): Promise<SubscriptionOverview> {
  const subscriptions = Subscription.query().where({ account_id: account.id });
  const latest = await subscriptions.orderByRaw(`(id = ?) DESC NULLS LAST, id DESC`, [account.subscription_id]).first();
  const plan = getActivePlan(account);
  const isOver = plan === null && (latest?.status === 'active' || latest?.status === 'past_due');
  return {
    plan,
    status: isOver ? 'canceled' : (latest?.status ?? 'none'),
    currentPeriodEnd: latest?.current_period_end ?? null,
    cancelAtPeriodEnd: latest?.cancel_at_period_end ?? false,
  };
}

/** Whether automatic top-ups could be charged. Where payments are simulated nothing is missing for that. */
function hasPaymentMethod(account: Account): boolean {
  return processor.isSimulated || account.has_payment_method;
}

/** The plan that an account may spend under right now, or null. */
export function getActivePlan(account: Account, at: Date = now()): Plan | null {
  if (account.plan_slug === null || account.spendable_until === null || account.spendable_until <= at) return null;
  return getPlanBySlug(account.plan_slug);
}
