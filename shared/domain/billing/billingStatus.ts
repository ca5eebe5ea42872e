import type { Transaction } from 'objection';
import { processor } from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import type { BillingStatus } from '../../presenters/billingStatus.ts';
import { Account } from '../../tables/Account.ts';
import { Subscription } from '../../tables/Subscription.ts';
import { Topup } from '../../tables/Topup.ts';
import { getActivePlan } from '../credits/entitlement.ts';
import { HOUR_MS } from '../../spec/durations.ts';

export type SubscriptionOverview = Omit<BillingStatus, 'hasPaymentMethod'>;

export async function getBillingStatus(accountId: number): Promise<BillingStatus> {
  return readBillingStatus(await Account.query().findById(accountId).throwIfNotFound());
}

/** Reads the billing status of an account whose row was just read, as it is at a time. */
export async function readBillingStatus(
  account: Account,
  transaction?: Transaction,
  at: Date = now(),
): Promise<BillingStatus> {
  const overview = await getSubscriptionOverview(account, transaction, at);
  return { ...overview, hasPaymentMethod: hasPaymentMethod(account) };
}

/** Returns the state of the subscription that an account uses, or of the last one that it had. */
export async function getSubscriptionOverview(
  account: Account,
  transaction?: Transaction,
  at: Date = now(),
): Promise<SubscriptionOverview> {
  const subscriptions = Subscription.query(transaction).where({ account_id: account.id });
  const latest = await subscriptions.orderByRaw(`(id = ?) DESC NULLS LAST, id DESC`, [account.subscription_id]).first();
  const plan = getActivePlan(account, at);
  const isOver = plan === null && (latest?.status === 'active' || latest?.status === 'past_due');
  return {
    plan,
    status: isOver ? 'canceled' : (latest?.status ?? 'none'),
    currentPeriodEnd: latest?.current_period_end ?? null,
    cancelAtPeriodEnd: latest?.cancel_at_period_end ?? false,
  };
}

/** Returns whether automatic top-ups can be charged. Simulated payments need no payment method. */
function hasPaymentMethod(account: Account): boolean {
  return processor.isSimulated || account.has_payment_method;
}

/** A checkout page that was opened within this time may be the one that the customer returns from. */
const RECENT_TOPUP_MS = HOUR_MS;

/**
 * Returns whether the payment of a customer who returns from a checkout is still missing: they have no plan, or their
 * latest top-up is not paid.
 */
export async function isPaymentPending(accountId: number): Promise<boolean> {
  const account = await Account.query().findById(accountId).throwIfNotFound();
  if (processor.isSimulated || account.stripe_customer_id === null) return false;
  if (getActivePlan(account) === null) return true;
  const topup = await Topup.query()
    .where({ account_id: accountId, kind: 'manual' })
    .where('created_at', '>', addMilliseconds(now(), -RECENT_TOPUP_MS))
    .orderBy('created_at', 'desc')
    .first();
  return topup?.status === 'pending';
}
