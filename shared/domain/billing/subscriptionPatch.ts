import { v7 as uuidv7 } from 'uuid';
import type { Transaction } from 'objection';
import { PROCESSOR_NAME, type ProcessorSubscription } from '../../gateways/payments/index.ts';
import { now } from '../../lib/clock.ts';
import type { PlanSlug } from '../../spec/plans.ts';
import type { Account } from '../../tables/Account.ts';
import { Subscription } from '../../tables/Subscription.ts';
import type { SubscriptionSnapshot } from './subscriptionSnapshot.ts';
import { deriveSubscriptionStatus } from './subscriptionStatus.ts';

/** Inserts the row of a subscription that is seen for the first time, before anything follows from its state. */
export function insertIncompleteSubscription(
  transaction: Transaction,
  account: Account,
  subscription: ProcessorSubscription,
): Promise<Subscription> {
  return Subscription.query(transaction)
    .insertAndFetch({
      uuid: uuidv7(),
      account_id: account.id,
      plan_slug: subscription.plan as string,
      status: 'incomplete',
      processor: PROCESSOR_NAME,
      stripe_subscription_id: subscription.id,
      started_at: subscription.startedAt,
      current_period_end: subscription.currentPeriodEnd,
      paid_until: subscription.startedAt,
      created_at: now(),
    })
    .execute();
}

/**
 * Returns the columns of a subscription that follow from its state at the processor.
 * @param paidPlan the plan that is paid now, by the plan history; null without one.
 */
export function buildSubscriptionPatch(
  before: Subscription,
  { subscription, syncVersion, disputedChargeId, refundedUpgrade }: SubscriptionSnapshot,
  paidPlan: PlanSlug | null,
): Partial<Subscription> & Pick<Subscription, 'status' | 'paid_until'> {
  const { paidUntil: yearEnd, plan } = subscription;
  const paidUntil = yearEnd !== null && yearEnd > before.paid_until ? yearEnd : before.paid_until;
  const known = { paid_until: paidUntil, started_at: before.started_at, disputedChargeId };
  const status = deriveSubscriptionStatus(subscription, known);
  return {
    plan_slug: paidPlan ?? (before.activated_at === null && plan !== null ? plan : before.plan_slug),
    status,
    current_period_end: subscription.currentPeriodEnd,
    cancel_at_period_end: subscription.cancelAtPeriodEnd,
    paid_until: paidUntil,
    ended_at: status === 'canceled' ? (before.ended_at ?? subscription.endedAt ?? now()) : null,
    past_due_since: status === 'past_due' ? (before.past_due_since ?? now()) : null,
    disputed_charge_id: disputedChargeId,
    refunded_upgrade: refundedUpgrade,
    sync_version: syncVersion,
    synced_at: now(),
  };
}
