import type Stripe from 'stripe';
import { type StripeStore, getId } from './store.ts';
import { addPaymentMethod, listPaymentMethods } from './customers.ts';
import { draftInvoice, finalizeInvoice, findOrCreateInvoicePayment, markInvoicePaid } from './invoices.ts';
import { issuePageInvoice } from './oneOffInvoices.ts';
import { applyPageAmounts } from './pageAmounts.ts';
import {
  addPaymentIntent,
  confirmIntent,
  failIntent,
  startProcessingIntent,
  startVerification,
  succeedIntent,
} from './paymentIntents.ts';
import { addSubscription, getItem } from './subscriptions.ts';

export interface CheckoutOptions {
  /** The card is declined; the page stays open for another one. */
  declined?: boolean;
  /** The bank takes days: the page is completed, and `settlePayment` sets the outcome. */
  async?: boolean;
  /** Before that, the bank account is verified by micro-deposits, until `verifyAccount`. */
  unverified?: boolean;
  /** The promotion code that the customer enters. */
  promotionCode?: string;
  /** Length of the first year of a plan, so that its renewal is due soon; default: a year. */
  yearSeconds?: number;
}

/** Completes a page as the customer does. */
export function completeSession(store: StripeStore, session: Stripe.Checkout.Session, options: CheckoutOptions): void {
  if (session.status !== 'open') throw new Error(`The page ${session.id} is ${session.status} and cannot be paid.`);
  const customerId = getId(session.customer);
  applyPageAmounts(store, session, options.promotionCode);
  if (session.amount_total === 0) return completeFreeSession(store, session, customerId, options);
  const intent = findOrCreateAttempt(store, session, customerId);
  if (options.declined === true) {
    confirmIntent(store, intent, addPaymentMethod(store, null, 'declined').id, 'declined');
    return;
  }
  const method = listPaymentMethods(store, customerId)[0] ?? addPaymentMethod(store, null);
  const isSaved = session.mode === 'subscription' || store.checkoutParams.get(session.id)?.saves === true;
  if (isSaved) saveMethod(store, method, customerId);
  if (options.unverified === true) startVerification(intent, method.id);
  else if (options.async === true) startProcessingIntent(store, intent, method.id);
  else confirmIntent(store, intent, method.id, 'ok');

  if (session.mode === 'subscription') createPaidSubscription(store, session, intent, method.id, options);
  else session.payment_intent = intent.id;
  session.status = 'complete';
  session.url = null;
  const isPaid = intent.status === 'succeeded';
  session.payment_status = isPaid ? 'paid' : 'unpaid';
  if (isPaid) issueInvoice(store, session, intent);
  store.emit('checkout.session.completed', session);
}

function saveMethod(store: StripeStore, method: Stripe.PaymentMethod, customerId: string): void {
  if (method.customer !== null) return;
  method.customer = customerId;
  store.emit('payment_method.attached', method);
}

/** Completes a page that a discount covers completely: no payment is made. A subscription still stores a card. */
function completeFreeSession(
  store: StripeStore,
  session: Stripe.Checkout.Session,
  customerId: string,
  options: CheckoutOptions,
): void {
  if (session.mode === 'subscription') {
    const method = listPaymentMethods(store, customerId)[0] ?? addPaymentMethod(store, null);
    saveMethod(store, method, customerId);
    createPaidSubscription(store, session, null, method.id, options);
  } else issueInvoice(store, session, null);
  Object.assign(session, { status: 'complete', url: null, payment_status: 'no_payment_required' });
  store.emit('checkout.session.completed', session);
}

/** Creates the invoice of a single payment, or leaves it for `issueDelayedInvoices`. */
function issueInvoice(store: StripeStore, session: Stripe.Checkout.Session, intent: Stripe.PaymentIntent | null): void {
  if (session.mode !== 'payment') return;
  if (store.delaysInvoices) store.delayedInvoices.push(() => issuePageInvoice(store, session, intent));
  else issuePageInvoice(store, session, intent);
}

/** Returns the payment of a page: all attempts on the page use the same one. */
function findOrCreateAttempt(
  store: StripeStore,
  session: Stripe.Checkout.Session,
  customer: string,
): Stripe.PaymentIntent {
  const checkoutParams = store.checkoutParams.get(session.id);
  const isTopup = session.mode === 'payment';
  const known = store.find('payment_intent', attempts.get(session));
  if (known !== undefined) return Object.assign(known, { amount: session.amount_total ?? 0 });
  const intent = addPaymentIntent(store, {
    amount: session.amount_total ?? 0,
    customer,
    metadata: isTopup ? checkoutParams?.metadata : {},
    setupFutureUsage: !isTopup || checkoutParams?.saves === true,
  });
  attempts.set(session, intent.id);
  if (isTopup) session.payment_intent = intent.id;
  return intent;
}

const attempts = new WeakMap<Stripe.Checkout.Session, string>();

function createPaidSubscription(
  store: StripeStore,
  session: Stripe.Checkout.Session,
  intent: Stripe.PaymentIntent | null,
  paymentMethod: string,
  { yearSeconds }: CheckoutOptions,
): void {
  const { price, metadata } = store.checkoutParams.get(session.id) ?? { price: '', metadata: {} };
  const customer = getId(session.customer);
  const subscription = addSubscription(store, { customer, price: price ?? '', paymentMethod, metadata });
  const item = getItem(subscription);
  if (yearSeconds !== undefined) item.current_period_end = item.current_period_start + yearSeconds;
  const { current_period_start: start, current_period_end: end } = item;
  const { amount_discount: discount = 0, amount_tax: tax = 0 } = session.total_details ?? {};
  const invoice = draftInvoice(store, subscription, {
    reason: 'subscription_create',
    total: session.amount_subtotal ?? 0,
    page: { total: session.amount_total ?? 0, discount, tax },
    period: { start, end },
  });
  if (intent !== null) findOrCreateInvoicePayment(store, invoice, intent);
  session.subscription = subscription.id;
  session.invoice = invoice.id;
  const isPaid = intent === null || intent.status === 'succeeded';
  if (isPaid) subscription.status = 'active';
  store.emit('customer.subscription.created', subscription);
  if (isPaid) markInvoicePaid(store, invoice, intent);
  else finalizeInvoice(store, invoice);
}

/** Verifies the bank account of a payment, which the bank then processes for days. */
export function verifyAccount(store: StripeStore, session: Stripe.Checkout.Session): void {
  const intent = store.get('payment_intent', attempts.get(session));
  if (intent.next_action === null) throw new Error(`${intent.id} is ${intent.status} and verifies no account.`);
  intent.next_action = null;
  startProcessingIntent(store, intent, getId(intent.payment_method));
}

/** Sets the outcome of a payment that took days. */
export function settleAsyncPayment(
  store: StripeStore,
  session: Stripe.Checkout.Session,
  outcome: 'succeeded' | 'failed',
): void {
  const intent = store.get('payment_intent', attempts.get(session));
  if (intent.status !== 'processing') throw new Error(`${intent.id} is ${intent.status}, not processing.`);
  const methodId = getId(intent.payment_method);
  const invoice = store.find('invoice', getId(session.invoice));
  if (outcome === 'failed') {
    failIntent(store, intent, methodId, 'declined');
    if (invoice !== undefined) store.emit('invoice.payment_failed', invoice);
    store.emit('checkout.session.async_payment_failed', session);
    return;
  }
  succeedIntent(store, intent, methodId);
  session.payment_status = 'paid';
  if (invoice !== undefined) markInvoicePaid(store, invoice, intent);
  else issueInvoice(store, session, intent);
  store.emit('checkout.session.async_payment_succeeded', session);
}
