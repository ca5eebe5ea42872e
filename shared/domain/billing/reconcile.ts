import { processor } from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { Reconciliation } from '../../tables/Reconciliation.ts';
import { Subscription } from '../../tables/Subscription.ts';
import { attempt, runEach } from './effects.ts';
import { intentEffect, storeEvents } from './paymentEvents.ts';
import { subscriptionEffect } from './syncSubscription.ts';

const DAY_MS = 86_400_000;
/** How far back subscriptions and payments are asked for. */
const LOOK_BACK_MS = 3 * DAY_MS;
/** The processor forgets its events after 30 days. */
const EVENTS_KEPT_MS = 29 * DAY_MS;
/** An event may be listed some time after the moment that it bears. */
const OVERLAP_MS = 15 * 60_000;
/** Every subscription is looked at so often, whether or not anything is heard of it. */
const STALE_MS = DAY_MS;
/** One run takes no longer than this: the next one goes on. */
const RUN_MS = 20 * 60_000;
const AT_ONCE = 200;

/** Looks at what the processor may have told of in vain: subscriptions and payments of the last days, and old ones. */
export async function reconcilePayments(): Promise<void> {
  await runEach([recentSubscriptions, recentPayments, staleSubscriptions]);
}

/** Asks for what it has told since it was last asked: after weeks, too, and of what lies longer back than days. */
export async function fetchMissedEvents(): Promise<void> {
  // Nothing was told, and Stripe's events of the meantime are not to be passed over, should it be set up again.
  if (processor.isSimulated) return;
  const startedAt = now();
  const last = await Reconciliation.query().findById('events');
  const earliest = addMilliseconds(startedAt, -EVENTS_KEPT_MS);
  const since = addMilliseconds(last?.done_until ?? earliest, -OVERLAP_MS);
  await storeEvents(processor.eventsSince(since > earliest ? since : earliest));
  await Reconciliation.query().insert({ subject: 'events', done_until: startedAt }).onConflict('subject').merge();
}

async function recentSubscriptions(): Promise<void> {
  const since = addMilliseconds(now(), -LOOK_BACK_MS);
  for await (const id of processor.subscriptionsSince(since)) await attempt(() => subscriptionEffect(id));
}

async function recentPayments(): Promise<void> {
  const since = addMilliseconds(now(), -LOOK_BACK_MS);
  for await (const id of processor.paymentsSince(since)) await attempt(() => intentEffect(id));
}

async function staleSubscriptions(): Promise<void> {
  const until = performance.now() + RUN_MS;
  const stale = Subscription.query()
    .whereNotNull('stripe_subscription_id')
    .whereIn('status', ['active', 'past_due', 'unpaid', 'incomplete'])
    .where((old) => {
      void old.whereNull('synced_at').orWhere('synced_at', '<=', addMilliseconds(now(), -STALE_MS));
    })
    .orderBy('id')
    .limit(AT_ONCE);
  for (let last = 0; performance.now() < until; ) {
    const rows = await stale.clone().where('id', '>', last);
    for (const { stripe_subscription_id: id } of rows) await attempt(() => subscriptionEffect(id as string));
    if (rows.length < AT_ONCE) return;
    last = rows.at(-1)?.id as number;
  }
}
