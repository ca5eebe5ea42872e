import { v7 as uuidv7 } from 'uuid';
import type { Transaction } from 'objection';
import { PROCESSOR_NAME, type ProcessorSubscription } from '../../gateways/payments/index.ts';
import { now } from '../../lib/clock.ts';
import { LIVE_SUBSCRIPTION_STATUSES, type SubscriptionStatus } from '../../spec/states.ts';
import type { Account } from '../../tables/Account.ts';
import { Subscription } from '../../tables/Subscription.ts';
import type { SubscriptionSnapshot } from './subscriptionSnapshot.ts';

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

/** Returns the columns of a subscription that follow from its state at the processor. */
export function buildSubscriptionPatch(
  before: Subscription,
  { subscription, syncVersion, disputedChargeId, refundedUpgrade }: SubscriptionSnapshot,
): Partial<Subscription> & Pick<Subscription, 'status' | 'paid_until'> {
  const { paidUntil: yearEnd, isLatestInvoicePaid, plan } = subscription;
  const paidUntil = yearEnd !== null && yearEnd > before.paid_until ? yearEnd : before.paid_until;
  const status = deriveSubscriptionStatus(subscription, {
    paidUntil,
    isEverPaid: paidUntil > before.started_at,
    disputedChargeId,
  });
  return {
    // Another plan counts from when it is paid for.
    plan_slug: plan !== null && (isLatestInvoicePaid || before.activated_at === null) ? plan : before.plan_slug,
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

function deriveSubscriptionStatus(
  { status }: ProcessorSubscription,
  known: { paidUntil: Date; isEverPaid: boolean; disputedChargeId: string | null },
): SubscriptionStatus {
  if (!isLiveStatus(status)) return status;
  if (known.disputedChargeId !== null) return 'unpaid';
  if (!known.isEverPaid) return 'incomplete';
  // The year is paid: what is open is the change to another plan, which counts from when it is paid for.
  return known.paidUntil > now() ? 'active' : status;
}

export function isLiveStatus(status: SubscriptionStatus): boolean {
  return LIVE_SUBSCRIPTION_STATUSES.includes(status);
}
