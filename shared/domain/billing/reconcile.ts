import { processor } from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { SyncCursor } from '../../tables/SyncCursor.ts';
import { Subscription } from '../../tables/Subscription.ts';
import { tryApply, runSteps } from './accountChanges.ts';
import { fetchPaymentIntentChange, storeEvents } from './paymentEvents.ts';
import { fetchSubscriptionChange } from './syncSubscription.ts';

const DAY_MS = 86_400_000;
/** How far back subscriptions and payments are asked for. */
const LOOKBACK_MS = 3 * DAY_MS;
/** The processor forgets its events after 30 days. */
const EVENT_RETENTION_MS = 29 * DAY_MS;
/** An event may be listed some time after the moment that it bears. */
const EVENT_LIST_OVERLAP_MS = 15 * 60_000;
/** Every subscription is looked at so often, whether or not anything is heard of it. */
const RESYNC_INTERVAL_MS = DAY_MS;
/** One run takes no longer than this: the next one goes on. */
const RUN_BUDGET_MS = 20 * 60_000;
const BATCH_SIZE = 200;

/** Looks at what the processor may have told of in vain: subscriptions and payments of the last days, and old ones. */
export async function reconcilePayments(): Promise<void> {
  await runSteps([syncRecentSubscriptions, syncRecentPayments, syncStaleSubscriptions]);
}

/** Asks for what it has told since it was last asked: after weeks, too, and of what lies longer back than days. */
export async function backfillPaymentEvents(): Promise<void> {
  // Nothing was told, and Stripe's events of the meantime are not to be passed over, should it be set up again.
  if (processor.isSimulated) return;
  const startedAt = now();
  const cursor = await SyncCursor.query().findById('events');
  const earliest = addMilliseconds(startedAt, -EVENT_RETENTION_MS);
  const since = addMilliseconds(cursor?.synced_through ?? earliest, -EVENT_LIST_OVERLAP_MS);
  await storeEvents(processor.listEventsSince(since > earliest ? since : earliest));
  await SyncCursor.query().insert({ subject: 'events', synced_through: startedAt }).onConflict('subject').merge();
}

async function syncRecentSubscriptions(): Promise<void> {
  const since = addMilliseconds(now(), -LOOKBACK_MS);
  for await (const id of processor.listSubscriptionsSince(since)) await tryApply(() => fetchSubscriptionChange(id));
}

async function syncRecentPayments(): Promise<void> {
  const since = addMilliseconds(now(), -LOOKBACK_MS);
  for await (const id of processor.listPaymentsSince(since)) await tryApply(() => fetchPaymentIntentChange(id));
}

async function syncStaleSubscriptions(): Promise<void> {
  const until = performance.now() + RUN_BUDGET_MS;
  const stale = Subscription.query()
    .whereNotNull('stripe_subscription_id')
    .whereIn('status', ['active', 'past_due', 'unpaid', 'incomplete'])
    .where((unsynced) => {
      void unsynced.whereNull('synced_at').orWhere('synced_at', '<=', addMilliseconds(now(), -RESYNC_INTERVAL_MS));
    })
    .orderBy('id')
    .limit(BATCH_SIZE);
  for (let lastId = 0; performance.now() < until; ) {
    const rows = await stale.clone().where('id', '>', lastId);
    for (const { stripe_subscription_id: id } of rows) await tryApply(() => fetchSubscriptionChange(id as string));
    if (rows.length < BATCH_SIZE) return;
    lastId = rows.at(-1)?.id as number;
  }
}
