import type Stripe from 'stripe';
import { type Books, idIn } from './books.ts';
import { collect, draftInvoice, voidInvoice } from './invoices.ts';
import { isOver, itemOf } from './subscriptions.ts';

/** - `declined`: the difference could not be charged, and nothing has changed. */
export type SwitchOutcome = 'switched' | 'scheduled' | 'declined';

/** Confirms what a page of the portal was opened for; it can be confirmed once. */
export function confirmSwitch(books: Books, session: Stripe.BillingPortal.Session): SwitchOutcome {
  const order = session.flow?.subscription_update_confirm;
  if (order == null) throw new Error(`${session.id} is not the page of a switch.`);
  const subscription = books.get('subscription', idIn(order.subscription));
  if (isOver(subscription)) throw new Error(`${subscription.id} is over: it cannot be switched.`);
  if (confirmed.has(session)) throw new Error(`${session.id} was confirmed already.`);
  const price = books.get('price', order.items[0]?.price);
  const difference = (price.unit_amount ?? 0) - (itemOf(subscription).price.unit_amount ?? 0);
  const outcome =
    difference < 0 && waitsForRenewal(books, session)
      ? schedule(books, subscription, price)
      : change(books, subscription, price);
  if (outcome !== 'declined') confirmed.add(session);
  return outcome;
}

const confirmed = new WeakSet<Stripe.BillingPortal.Session>();

function waitsForRenewal(books: Books, session: Stripe.BillingPortal.Session): boolean {
  const { features } = books.get('billing_portal.configuration', idIn(session.configuration));
  const conditions = features.subscription_update.schedule_at_period_end?.conditions ?? [];
  return conditions.some(({ type }) => type === 'decreasing_item_amount');
}

/** From the renewal on. */
function schedule(books: Books, subscription: Stripe.Subscription, price: Stripe.Price): SwitchOutcome {
  books.pricesFromRenewal.set(subscription.id, price.id);
  subscription.schedule = books.newId('sub_sched');
  books.tell('customer.subscription.updated', subscription);
  return 'scheduled';
}

/** At once; the rest of the year is charged, or put on the customer's balance. */
function change(books: Books, subscription: Stripe.Subscription, price: Stripe.Price): SwitchOutcome {
  const item = itemOf(subscription);
  const { price: before, current_period_start: start, current_period_end: end } = item;
  const left = (end - books.now()) / (end - start);
  const total = Math.round(left * ((price.unit_amount ?? 0) - (before.unit_amount ?? 0)));
  const invoiceBefore = subscription.latest_invoice;
  item.price = structuredClone(price);
  const invoice = draftInvoice(books, subscription, {
    reason: 'subscription_update',
    total,
    period: { start: books.now(), end },
  });
  if (total < 0) books.get('customer', idIn(subscription.customer)).balance += total;
  if (!collect(books, invoice, subscription)) {
    voidInvoice(books, invoice);
    item.price = before;
    subscription.latest_invoice = invoiceBefore;
    return 'declined';
  }
  books.pricesFromRenewal.delete(subscription.id);
  subscription.schedule = null;
  books.tell('customer.subscription.updated', subscription);
  return 'switched';
}
