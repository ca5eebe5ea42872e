import { processor } from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { runSteps } from '../../lib/runSteps.ts';
import { DAY_MS, MINUTE_MS } from '../../spec/durations.ts';
import { PAST_DUE_GRACE_DAYS } from '../../spec/limits.ts';
import { Subscription } from '../../tables/Subscription.ts';
import { RENEWAL_GRACE_MS } from '../credits/entitlement.ts';
import { trySync } from '../payments/processorErrors.ts';
import { endSubscriptionRow } from './stopRenewals.ts';
import { syncSubscription } from './syncSubscription.ts';

/** A subscription that was synced within this time is not synced again. */
const RESYNC_INTERVAL_MS = MINUTE_MS;
const BATCH_SIZE = 200;

/** Runs what is due by the clock alone and does not wait for an event of the processor. */
export async function runBillingMaintenance(): Promise<void> {
  await runSteps([expireSimulatedSubscriptions, cancelPastDue, syncLapsed]);
}

/** Ends simulated subscriptions after their year: nothing renews them. */
async function expireSimulatedSubscriptions(): Promise<void> {
  const expired = await Subscription.query()
    .modify('live')
    .whereNull('stripe_subscription_id')
    .where('current_period_end', '<=', now())
    .orderByRaw(LEAST_RECENTLY_SYNCED_FIRST)
    .limit(BATCH_SIZE);
  for (const { id, account_id: accountId } of expired) {
    await trySyncOrDefer(id, () => endSubscriptionRow(accountId, id));
  }
}

/** Keeps subscriptions whose sync fails from blocking all others. */
const LEAST_RECENTLY_SYNCED_FIRST = 'synced_at NULLS FIRST';

/** Syncs a subscription; one that fails is retried after all others. */
async function trySyncOrDefer(id: number, sync: () => Promise<void>): Promise<boolean> {
  const isDone = await trySync(sync);
  if (!isDone) await Subscription.query().findById(id).patch({ synced_at: now() });
  return isDone;
}

/** Cancels subscriptions that are past due for too long. */
async function cancelPastDue(): Promise<void> {
  const lapsed = addMilliseconds(now(), -PAST_DUE_GRACE_DAYS * DAY_MS);
  const overdue = await Subscription.query()
    .where({ status: 'past_due' })
    .where('past_due_since', '<=', lapsed)
    .orderByRaw(LEAST_RECENTLY_SYNCED_FIRST)
    .limit(BATCH_SIZE);
  for (const { id: rowId, stripe_subscription_id: id } of overdue) {
    // Synced first: it may have been paid without an event.
    const isSynced = await trySyncOrDefer(rowId, () => syncSubscription(id as string));
    const current = await Subscription.query().findOne({ stripe_subscription_id: id, status: 'past_due' });
    const isOver = current?.past_due_since != null && current.past_due_since <= lapsed;
    if (!isSynced || !isOver) continue;
    await trySyncOrDefer(rowId, async () => {
      // A bank may still be processing the payment.
      if (await processor.isPaymentProcessing(id as string)) return;
      await processor.cancelSubscription(id as string);
      await syncSubscription(id as string);
    });
  }
}

/** Syncs subscriptions whose period is over: they were renewed or have ended without an event. */
async function syncLapsed(): Promise<void> {
  const lapsed = await Subscription.query()
    .where({ status: 'active' })
    .whereNotNull('stripe_subscription_id')
    .where((lapsed) => {
      // A year that is over although its next one is not paid: the invoice stays a draft.
      void lapsed
        .where('current_period_end', '<=', now())
        .orWhere('paid_until', '<=', addMilliseconds(now(), -RENEWAL_GRACE_MS));
    })
    .where((stale) => {
      void stale.whereNull('synced_at').orWhere('synced_at', '<=', addMilliseconds(now(), -RESYNC_INTERVAL_MS));
    })
    .orderByRaw(LEAST_RECENTLY_SYNCED_FIRST)
    .limit(BATCH_SIZE);
  for (const { id, stripe_subscription_id: stripeId } of lapsed) {
    await trySyncOrDefer(id, () => syncSubscription(stripeId as string));
  }
}
