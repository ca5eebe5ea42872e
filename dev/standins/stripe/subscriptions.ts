import type Stripe from 'stripe';
import { type Books, idIn, listOf, made } from './books.ts';
import { voidInvoice } from './invoices.ts';

export interface NewSubscription {
  customer: string;
  price: string;
  paymentMethod: string;
  metadata: Record<string, string>;
}

/** A subscription that is not paid yet. */
export function addSubscription(books: Books, order: NewSubscription): Stripe.Subscription {
  const id = books.newId('sub');
  const created = books.now();
  const subscription = books.add<'subscription'>(
    made<Stripe.Subscription>({
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
      customer: order.customer,
      days_until_due: null,
      default_payment_method: order.paymentMethod,
      description: null,
      discounts: [],
      ended_at: null,
      latest_invoice: null,
      livemode: false,
      metadata: order.metadata,
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
  const item = made<Stripe.SubscriptionItem>({
    id: books.newId('si'),
    object: 'subscription_item',
    created,
    current_period_start: created,
    current_period_end: yearsAfter(created, 1),
    discounts: [],
    metadata: {},
    price: structuredClone(books.get('price', order.price)),
    quantity: 1,
    subscription: id,
    tax_rates: [],
  });
  subscription.items = listOf([item], `/v1/subscription_items?subscription=${id}`);
  return subscription;
}

export function itemOf(subscription: Stripe.Subscription): Stripe.SubscriptionItem {
  return subscription.items.data[0] as Stripe.SubscriptionItem;
}

/** Ends it at once. */
export function end(
  books: Books,
  subscription: Stripe.Subscription,
  reason: 'cancellation_requested' | 'payment_failed',
): void {
  subscription.status = 'canceled';
  subscription.ended_at = books.now();
  subscription.canceled_at ??= books.now();
  if (subscription.cancellation_details !== null) subscription.cancellation_details.reason = reason;
  subscription.schedule = null;
  books.pricesFromRenewal.delete(subscription.id);
  // A draft is never paid any more; what was asked for already stays open, but is not collected.
  const invoice = books.find('invoice', idIn(subscription.latest_invoice));
  if (invoice?.status === 'draft') voidInvoice(books, invoice);
  if (invoice !== undefined) books.collections.delete(invoice.id);
  books.tell('customer.subscription.deleted', subscription);
}

/** @param as how the portal writes it down, which depends on the subscription's age. */
export function cancelAtPeriodEnd(books: Books, subscription: Stripe.Subscription, as: 'flag' | 'date' = 'flag'): void {
  requireAlive(subscription);
  if (as === 'flag') subscription.cancel_at_period_end = true;
  subscription.cancel_at = itemOf(subscription).current_period_end;
  subscription.canceled_at = books.now();
  subscription.schedule = null;
  books.pricesFromRenewal.delete(subscription.id);
  books.tell('customer.subscription.updated', subscription);
}

export function resume(books: Books, subscription: Stripe.Subscription): void {
  requireAlive(subscription);
  subscription.cancel_at_period_end = false;
  subscription.cancel_at = null;
  subscription.canceled_at = null;
  books.tell('customer.subscription.updated', subscription);
}

export function isOver({ status }: Stripe.Subscription): boolean {
  return status === 'canceled' || status === 'incomplete_expired';
}

/** The same moment, years later; the 29th of February becomes the 28th. */
export function yearsAfter(seconds: number, years: number): number {
  const date = new Date(1_000 * seconds);
  const month = date.getUTCMonth();
  date.setUTCFullYear(date.getUTCFullYear() + years);
  if (date.getUTCMonth() !== month) date.setUTCDate(0);
  return date.getTime() / 1_000;
}

function requireAlive(subscription: Stripe.Subscription): void {
  if (isOver(subscription)) throw new Error(`${subscription.id} is over.`);
}
