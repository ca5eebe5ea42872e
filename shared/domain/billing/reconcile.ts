import { processor, verifyPlanPrices } from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { runSteps } from '../../lib/runSteps.ts';
import { SyncCursor } from '../../tables/SyncCursor.ts';
import { Subscription } from '../../tables/Subscription.ts';
import { createMissingCommissions } from '../affiliates/commissions.ts';
import { applySnapshot } from '../payments/accountSnapshot.ts';
import { trySync } from '../payments/processorErrors.ts';
import { fetchTopupPayment } from './eventSnapshots.ts';
import { storePaymentEvents } from './receivePaymentEvents.ts';
import { syncSubscription } from './syncSubscription.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../spec/durations.ts';

/** Subscriptions and payments created within this time are listed. */
const LOOKBACK_MS = 3 * DAY_MS;
/** The processor deletes its events after 30 days. */
const EVENT_RETENTION_MS = 29 * DAY_MS;
/** An event may be listed some time after its own timestamp. */
const EVENT_LIST_OVERLAP_MS = 15 * MINUTE_MS;
/** Every subscription is synced this often, with or without events. */
const RESYNC_INTERVAL_MS = DAY_MS;
/** A subscription whose sync failed is synced again after this time. */
const RETRY_DELAY_MS = HOUR_MS;
/** One run takes no longer than this and syncs no more; the next one continues. */
const RUN_BUDGET_MS = 20 * MINUTE_MS;
const RUN_SUBSCRIPTIONS_MAX = 10_000;

/**
 * Syncs whatever events may have been lost for: recent subscriptions and payments, and subscriptions not synced lately.
 * Fails if a price of a plan is wrong, which a start may have missed.
 */
export async function reconcilePayments(): Promise<void> {
  await runSteps([
    syncRecentSubscriptions,
    syncRecentPayments,
    syncStaleSubscriptions,
    createMissingCommissions,
    verifyPlanPrices,
  ]);
}

/** Fetches the events since the last backfill, up to weeks ago, in case webhooks did not arrive. */
export async function backfillPaymentEvents(): Promise<void> {
  // The cursor stays: if Stripe is configured again, its events of the meantime are fetched.
  if (processor.isSimulated) return;
  const startedAt = now();
  const cursor = await SyncCursor.query().findById('events');
  const earliest = addMilliseconds(startedAt, -EVENT_RETENTION_MS);
  const since = addMilliseconds(cursor?.synced_through ?? earliest, -EVENT_LIST_OVERLAP_MS);
  await storePaymentEvents(processor.listEventsSince(since > earliest ? since : earliest));
  await SyncCursor.query().insert({ subject: 'events', synced_through: startedAt }).onConflict('subject').merge();
}

async function syncRecentSubscriptions(): Promise<void> {
  const since = addMilliseconds(now(), -LOOKBACK_MS);
  for await (const id of processor.listSubscriptionsSince(since)) await trySync(() => syncSubscription(id));
}

async function syncRecentPayments(): Promise<void> {
  const since = addMilliseconds(now(), -LOOKBACK_MS);
  for await (const id of processor.listPaymentsSince(since))
    await trySync(async () => applySnapshot(await fetchTopupPayment(id)));
}

/** Syncs the least recently synced first: if one run cannot sync all, each has its turn in one of the next. */
async function syncStaleSubscriptions(): Promise<void> {
  const until = performance.now() + RUN_BUDGET_MS;
  const stale = await Subscription.query()
    .select('id', 'stripe_subscription_id')
    .whereNotNull('stripe_subscription_id')
    .whereIn('status', ['active', 'past_due', 'unpaid', 'incomplete'])
    .where('synced_at', '<=', addMilliseconds(now(), -RESYNC_INTERVAL_MS))
    .orderBy('synced_at')
    .limit(RUN_SUBSCRIPTIONS_MAX);
  for (const { id: rowId, stripe_subscription_id: id } of stale) {
    if (performance.now() > until) return;
    if (await trySync(() => syncSubscription(id as string))) continue;
    // Otherwise those that fail would be the first of every run.
    const retryDueAs = addMilliseconds(now(), RETRY_DELAY_MS - RESYNC_INTERVAL_MS);
    await Subscription.query().findById(rowId).patch({ synced_at: retryDueAs });
  }
}
