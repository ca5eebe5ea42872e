import type Stripe from 'stripe';
import { type StripeStore, getId, toApiList, fromFields } from './store.ts';

export interface NewSubscription {
  customer: string;
  price: string;
  paymentMethod: string;
  metadata: Record<string, string>;
}

/** Adds a subscription that is not paid yet. */
export function addSubscription(store: StripeStore, fields: NewSubscription): Stripe.Subscription {
  const id = store.newId('sub');
  const created = store.now();
  const subscription = store.add<'subscription'>(
    fromFields<Stripe.Subscription>({
      id,
      object: 'subscription',
      application: null,
      automatic_tax: { disabled_reason: null, enabled: false, liability: null },
      billing_cycle_anchor: created,
      billing_mode: { type: 'flexible', flexible: null },
      cancel_at: null,
      cancel_at_period_end: false,
      canceled_at: null,
      cancellation_details: { comment: null, feedback: null, feedback_option: null, reason: null },
      collection_method: 'charge_automatically',
      created,
      currency: 'usd',
      customer: fields.customer,
      days_until_due: null,
      default_payment_method: fields.paymentMethod,
      description: null,
      discounts: [],
      ended_at: null,
      latest_invoice: null,
      livemode: false,
      metadata: fields.metadata,
      pause_collection: null,
      pending_setup_intent: null,
      pending_update: null,
      schedule: null,
      start_date: created,
      status: 'incomplete',
      test_clock: null,
      trial_end: null,
      trial_start: null,
    }),
  );
  const item = fromFields<Stripe.SubscriptionItem>({
    id: store.newId('si'),
    object: 'subscription_item',
    created,
    current_period_start: created,
    current_period_end: addYears(created, 1),
    discounts: [],
    metadata: {},
    price: structuredClone(store.get('price', fields.price)),
    quantity: 1,
    subscription: id,
    tax_rates: [],
  });
  subscription.items = toApiList([item], `/v1/subscription_items?subscription=${id}`);
  return subscription;
}

export function getItem(subscription: Stripe.Subscription): Stripe.SubscriptionItem {
  return subscription.items.data[0] as Stripe.SubscriptionItem;
}

/** Ends a subscription immediately. */
export function endSubscription(
  store: StripeStore,
  subscription: Stripe.Subscription,
  reason: 'cancellation_requested' | 'payment_failed',
): void {
  subscription.status = 'canceled';
  subscription.ended_at = store.now();
  subscription.canceled_at ??= store.now();
  if (subscription.cancellation_details !== null) subscription.cancellation_details.reason = reason;
  subscription.schedule = null;
  store.scheduledPrices.delete(subscription.id);
  // Drafts stay drafts and open invoices stay open: neither is advanced or collected any more.
  for (const invoice of listInvoices(store, subscription)) {
    if (invoice.status !== 'draft' && invoice.status !== 'open') continue;
    Object.assign(invoice, { auto_advance: false, automatically_finalizes_at: null, next_payment_attempt: null });
    store.collections.delete(invoice.id);
  }
  store.emit('customer.subscription.deleted', subscription);
}

/** Returns the invoices of a subscription, newest first. */
export function listInvoices(store: StripeStore, { id }: Stripe.Subscription): Stripe.Invoice[] {
  return store.list('invoice').filter(({ parent }) => getId(parent?.subscription_details?.subscription) === id);
}

/** Changes the status of a subscription that has not ended. */
export function setSubscriptionStatus(
  store: StripeStore,
  subscription: Stripe.Subscription,
  status: Stripe.Subscription.Status,
): void {
  if (subscription.status === status || isEnded(subscription)) return;
  subscription.status = status;
  store.emit('customer.subscription.updated', subscription);
}

/** Pauses the collection of invoices, as the dashboard can. The subscription stays as it is. */
export function pauseCollection(
  store: StripeStore,
  subscription: Stripe.Subscription,
  behavior: Stripe.Subscription.PauseCollection.Behavior | null,
): void {
  assertNotEnded(subscription);
  subscription.pause_collection = behavior === null ? null : { behavior, resumes_at: null };
  store.emit('customer.subscription.updated', subscription);
}

/** @param as how the portal records it, which depends on the subscription's age. */
export function cancelAtPeriodEnd(
  store: StripeStore,
  subscription: Stripe.Subscription,
  as: 'flag' | 'date' = 'flag',
): void {
  assertNotEnded(subscription);
  if (as === 'flag') subscription.cancel_at_period_end = true;
  subscription.cancel_at = getItem(subscription).current_period_end;
  subscription.canceled_at = store.now();
  subscription.schedule = null;
  store.scheduledPrices.delete(subscription.id);
  store.emit('customer.subscription.updated', subscription);
}

export function resumeSubscription(store: StripeStore, subscription: Stripe.Subscription): void {
  assertNotEnded(subscription);
  subscription.cancel_at_period_end = false;
  subscription.cancel_at = null;
  subscription.canceled_at = null;
  store.emit('customer.subscription.updated', subscription);
}

export function isEnded({ status }: Stripe.Subscription): boolean {
  return status === 'canceled' || status === 'incomplete_expired';
}

/** Adds years; the 29th of February becomes the 28th. */
export function addYears(seconds: number, years: number): number {
  const date = new Date(1_000 * seconds);
  const month = date.getUTCMonth();
  date.setUTCFullYear(date.getUTCFullYear() + years);
  if (date.getUTCMonth() !== month) date.setUTCDate(0);
  return date.getTime() / 1_000;
}

function assertNotEnded(subscription: Stripe.Subscription): void {
  if (isEnded(subscription)) throw new Error(`${subscription.id} has ended.`);
}
