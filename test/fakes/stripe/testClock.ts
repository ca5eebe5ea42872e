import type Stripe from 'stripe';
import { type StripeStore, type CardBehavior, getId } from './store.ts';
import {
  collectInvoice,
  draftInvoice,
  failFinalization,
  markUncollectible,
  voidInvoice,
  finalizeInvoice,
} from './invoices.ts';
import { endSubscription, isEnded, getItem, addYears, setSubscriptionStatus } from './subscriptions.ts';

/** Status of a subscription after all attempts to collect a renewal have failed. */
export type AfterFailedRetries = 'canceled' | 'unpaid' | 'past_due';

export interface RenewalBehavior {
  /** Declines every renewal, whatever the card. */
  failRenewals: boolean;
  afterRetries: AfterFailedRetries;
}

const HOUR_SECONDS = 3_600;
const DAY_SECONDS = 24 * HOUR_SECONDS;
/** The invoice of a renewal is a draft for an hour. */
export const DRAFT_SECONDS = HOUR_SECONDS;
/** Time between attempts. */
const RETRIES_AFTER_SECONDS = [3 * DAY_SECONDS, 5 * DAY_SECONDS, 7 * DAY_SECONDS];
const INCOMPLETE_SECONDS = 23 * HOUR_SECONDS;

interface DueEvent {
  at: number;
  run: () => void;
}

/** Moves the clock and processes everything that becomes due, each at its time. */
export function advanceClock(store: StripeStore, date: Date, renewals: RenewalBehavior): void {
  const target = Math.floor(date.getTime() / 1_000);
  if (target < store.now()) throw new Error(`The clock is past ${date.toISOString()} already.`);
  processDueEvents(store, target, renewals);
  store.clockOffsetMs = date.getTime() - Date.now();
}

/** Processes everything that is due until a time in seconds, each at its time. */
export function processDueEvents(store: StripeStore, target: number, renewals: RenewalBehavior): void {
  try {
    for (;;) {
      const next = listDueEvents(store, renewals).sort((a, b) => a.at - b.at)[0];
      if (next === undefined || next.at > target) break;
      store.simulatedNow = Math.max(next.at, store.now());
      next.run();
    }
  } finally {
    store.simulatedNow = null;
  }
}

function listDueEvents(store: StripeStore, renewals: RenewalBehavior): DueEvent[] {
  const sessions = store.list('checkout.session').filter(({ status }) => status === 'open');
  const subscriptions = store.list('subscription').filter((subscription) => !isEnded(subscription));
  return [
    ...sessions.map((session) => ({ at: session.expires_at, run: () => expireSession(session) })),
    ...subscriptions.map((subscription) =>
      subscription.status === 'incomplete'
        ? { at: subscription.created + INCOMPLETE_SECONDS, run: () => expireSubscription(store, subscription) }
        : {
            at: subscription.cancel_at ?? getItem(subscription).current_period_end,
            run: () => renewSubscription(store, subscription),
          },
    ),
    ...[...store.collections].map(([invoiceId, { at }]) => ({
      at,
      run: () => retryCollection(store, store.get('invoice', invoiceId), renewals),
    })),
  ];
}

export function expireSession(session: Stripe.Checkout.Session): void {
  session.status = 'expired';
  session.url = null;
}

function expireSubscription(store: StripeStore, subscription: Stripe.Subscription): void {
  subscription.status = 'incomplete_expired';
  subscription.ended_at = store.now();
  const invoice = store.find('invoice', getId(subscription.latest_invoice));
  if (invoice?.status === 'open') voidInvoice(store, invoice);
  store.emit('customer.subscription.updated', subscription);
}

/** Starts the next year, or ends a subscription that was canceled. */
function renewSubscription(store: StripeStore, subscription: Stripe.Subscription): void {
  if (subscription.cancel_at !== null) return endSubscription(store, subscription, 'cancellation_requested');
  const item = getItem(subscription);
  const price = store.find('price', store.scheduledPrices.get(subscription.id));
  if (price !== undefined) {
    item.price = structuredClone(price);
    store.scheduledPrices.delete(subscription.id);
    subscription.schedule = null;
  }
  const start = item.current_period_end;
  const years =
    new Date(1_000 * start).getUTCFullYear() - new Date(1_000 * subscription.billing_cycle_anchor).getUTCFullYear();
  const finish = addYears(subscription.billing_cycle_anchor, years + 1);
  const period = { start, end: finish };
  const invoice = draftInvoice(store, subscription, {
    reason: 'subscription_cycle',
    total: item.price.unit_amount ?? 0,
    period,
  });
  Object.assign(item, { current_period_start: start, current_period_end: finish });
  scheduleCollection(store, subscription, invoice);
  store.emit('customer.subscription.updated', subscription);
}

/** Schedules the first attempt, unless collection is paused or was given up: then the invoice stays a draft. */
function scheduleCollection(store: StripeStore, subscription: Stripe.Subscription, invoice: Stripe.Invoice): void {
  const behavior = subscription.pause_collection?.behavior;
  if (behavior === 'mark_uncollectible') return markUncollectible(store, invoice);
  if (behavior === 'void') {
    finalizeInvoice(store, invoice);
    return voidInvoice(store, invoice);
  }
  invoice.auto_advance = behavior === undefined && subscription.status !== 'unpaid';
  if (!invoice.auto_advance) return;
  const at = store.now() + DRAFT_SECONDS;
  invoice.automatically_finalizes_at = at;
  store.collections.set(invoice.id, { at, subscriptionId: subscription.id, attempts: 0 });
}

/** Finalizes an invoice and attempts to collect it. @param card overrides the behavior of the card. */
export function retryCollection(
  store: StripeStore,
  invoice: Stripe.Invoice,
  renewals: RenewalBehavior,
  card?: CardBehavior,
): boolean {
  const collection = store.collections.get(invoice.id);
  const subscription = store.get('subscription', getId(invoice.parent?.subscription_details?.subscription));
  const attempts = collection?.attempts ?? 0;
  const wait = RETRIES_AFTER_SECONDS[attempts];
  store.collections.delete(invoice.id);
  if (invoice.status === 'draft' && store.taxAddressMissing.has(subscription.id)) {
    failFinalization(store, invoice);
    return false;
  }
  if (wait !== undefined) invoice.next_payment_attempt = store.now() + wait;
  else invoice.next_payment_attempt = null;
  if (collectInvoice(store, invoice, subscription, card ?? (renewals.failRenewals ? 'declined' : undefined)))
    return true;
  if (wait !== undefined) {
    setSubscriptionStatus(store, subscription, 'past_due');
    scheduleRetry(store, subscription, invoice, attempts + 1);
  } else giveUpCollection(store, subscription, renewals.afterRetries);
  return false;
}

/** Ends or marks a subscription after the last attempt to collect an invoice. */
export function giveUpCollection(
  store: StripeStore,
  subscription: Stripe.Subscription,
  status: AfterFailedRetries,
): void {
  if (status === 'canceled') endSubscription(store, subscription, 'payment_failed');
  else setSubscriptionStatus(store, subscription, status);
}

/** Schedules the next attempt after so many that have failed. */
export function scheduleRetry(
  store: StripeStore,
  subscription: Stripe.Subscription,
  invoice: Stripe.Invoice,
  attempts = 1,
): void {
  const at = store.now() + (RETRIES_AFTER_SECONDS[attempts - 1] ?? 0);
  invoice.next_payment_attempt = at;
  store.collections.set(invoice.id, { at, subscriptionId: subscription.id, attempts });
}
