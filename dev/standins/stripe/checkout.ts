import type Stripe from 'stripe';
import { type Books, idIn } from './books.ts';
import { addPaymentMethod, paymentMethodsOf } from './customers.ts';
import { draftInvoice, finalize, paymentOf, settleInvoice } from './invoices.ts';
import { addIntent, confirm, fail, process, succeed } from './payments.ts';
import { addSubscription, itemOf } from './subscriptions.ts';

export interface CheckoutOptions {
  /** The card is declined; the page stays open for another one. */
  declined?: boolean;
  /** The bank takes days: the page is completed, and `settlePayment` says what came of it. */
  async?: boolean;
}

/** Does what the customer does on the page. */
export function complete(books: Books, session: Stripe.Checkout.Session, options: CheckoutOptions): void {
  if (session.status !== 'open') throw new Error(`The page ${session.id} is ${session.status}: nobody can pay there.`);
  const customerId = idIn(session.customer);
  const intent = attemptOn(books, session, customerId);
  if (options.declined === true) {
    confirm(books, intent, addPaymentMethod(books, null, 'declined').id, 'declined');
    return;
  }
  const method = paymentMethodsOf(books, customerId)[0] ?? addPaymentMethod(books, null);
  const isSaved = session.mode === 'subscription' || books.orders.get(session.id)?.saves === true;
  if (isSaved && method.customer === null) {
    method.customer = customerId;
    books.tell('payment_method.attached', method);
  }
  if (options.async === true) process(books, intent, method.id);
  else confirm(books, intent, method.id, 'ok');

  if (session.mode === 'subscription') begin(books, session, intent, method.id);
  else session.payment_intent = intent.id;
  session.status = 'complete';
  session.url = null;
  session.payment_status = options.async === true ? 'unpaid' : 'paid';
  books.tell('checkout.session.completed', session);
}

/** Every attempt on a page is one on the same payment. */
function attemptOn(books: Books, session: Stripe.Checkout.Session, customer: string): Stripe.PaymentIntent {
  const order = books.orders.get(session.id);
  const isTopup = session.mode === 'payment';
  const known = books.find('payment_intent', attempts.get(session));
  if (known !== undefined) return known;
  const intent = addIntent(books, {
    amount: session.amount_total ?? 0,
    customer,
    metadata: isTopup ? order?.metadata : {},
    setupFutureUsage: !isTopup || order?.saves === true,
  });
  attempts.set(session, intent.id);
  if (isTopup) session.payment_intent = intent.id;
  return intent;
}

const attempts = new WeakMap<Stripe.Checkout.Session, string>();

function begin(
  books: Books,
  session: Stripe.Checkout.Session,
  intent: Stripe.PaymentIntent,
  paymentMethod: string,
): void {
  const { price, metadata } = books.orders.get(session.id) ?? { price: '', metadata: {} };
  const customer = idIn(session.customer);
  const subscription = addSubscription(books, { customer, price: price ?? '', paymentMethod, metadata });
  const { current_period_start: start, current_period_end: end } = itemOf(subscription);
  const total = session.amount_total ?? 0;
  const invoice = draftInvoice(books, subscription, { reason: 'subscription_create', total, period: { start, end } });
  paymentOf(books, invoice, intent);
  session.subscription = subscription.id;
  session.invoice = invoice.id;
  if (intent.status === 'succeeded') subscription.status = 'active';
  books.tell('customer.subscription.created', subscription);
  if (intent.status === 'succeeded') settleInvoice(books, invoice, intent);
  else finalize(books, invoice);
}

/** What came of a payment that took days. */
export function settlePayment(books: Books, session: Stripe.Checkout.Session, outcome: 'succeeded' | 'failed'): void {
  const intent = books.get('payment_intent', attempts.get(session));
  if (intent.status !== 'processing') throw new Error(`${intent.id} is ${intent.status}, not processing.`);
  const methodId = idIn(intent.payment_method);
  const subscription = books.find('subscription', idIn(session.subscription));
  const invoice = books.find('invoice', idIn(session.invoice));
  if (outcome === 'failed') {
    fail(books, intent, methodId, 'declined');
    if (invoice !== undefined) books.tell('invoice.payment_failed', invoice);
    books.tell('checkout.session.async_payment_failed', session);
    return;
  }
  succeed(books, intent, methodId);
  session.payment_status = 'paid';
  if (invoice !== undefined) settleInvoice(books, invoice, intent);
  if (subscription?.status === 'incomplete') {
    subscription.status = 'active';
    books.tell('customer.subscription.updated', subscription);
  }
  books.tell('checkout.session.async_payment_succeeded', session);
}
