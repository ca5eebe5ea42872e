import type Stripe from 'stripe';
import { type Books, type Card, idIn } from './books.ts';
import { collect, draftInvoice } from './invoices.ts';
import { end, isOver, itemOf, yearsAfter } from './subscriptions.ts';

/** What becomes of a subscription when all attempts on a renewal have failed. */
export type AfterRetries = 'canceled' | 'unpaid' | 'past_due';

export interface Renewals {
  /** Lets every renewal be declined, whatever the card. */
  failRenewals: boolean;
  afterRetries: AfterRetries;
}

const HOUR = 3_600;
const DAY = 24 * HOUR;
/** A renewal's invoice is a draft for an hour. */
export const DRAFT_SECONDS = HOUR;
/** How long after a failed attempt the next one follows. */
const RETRIES_AFTER_SECONDS = [3 * DAY, 5 * DAY, 7 * DAY];
const INCOMPLETE_SECONDS = 23 * HOUR;

interface Due {
  at: number;
  happens: () => void;
}

/** Moves the clock and lets everything happen on the way, each at its moment. */
export function advanceTo(books: Books, date: Date, renewals: Renewals): void {
  const target = Math.floor(date.getTime() / 1_000);
  if (target < books.now()) throw new Error(`The clock is past ${date.toISOString()} already.`);
  try {
    for (;;) {
      const next = duesOf(books, renewals).sort((a, b) => a.at - b.at)[0];
      if (next === undefined || next.at > target) break;
      books.momentDealtWith = Math.max(next.at, books.now());
      next.happens();
    }
  } finally {
    books.momentDealtWith = null;
  }
  books.clockOffsetMs = date.getTime() - Date.now();
}

function duesOf(books: Books, renewals: Renewals): Due[] {
  const sessions = books.list('checkout.session').filter(({ status }) => status === 'open');
  const subscriptions = books.list('subscription').filter((subscription) => !isOver(subscription));
  return [
    ...sessions.map((session) => ({ at: session.expires_at, happens: () => expireSession(session) })),
    ...subscriptions.map((subscription) =>
      subscription.status === 'incomplete'
        ? { at: subscription.created + INCOMPLETE_SECONDS, happens: () => expire(books, subscription) }
        : {
            at: subscription.cancel_at ?? itemOf(subscription).current_period_end,
            happens: () => renew(books, subscription),
          },
    ),
    ...[...books.collections].map(([invoiceId, { at }]) => ({
      at,
      happens: () => collectAgain(books, books.get('invoice', invoiceId), renewals),
    })),
  ];
}

export function expireSession(session: Stripe.Checkout.Session): void {
  session.status = 'expired';
  session.url = null;
}

function expire(books: Books, subscription: Stripe.Subscription): void {
  subscription.status = 'incomplete_expired';
  subscription.ended_at = books.now();
  books.tell('customer.subscription.updated', subscription);
}

/** Begins the next year, or ends the subscription if that was wished for. */
function renew(books: Books, subscription: Stripe.Subscription): void {
  if (subscription.cancel_at !== null) return end(books, subscription, 'cancellation_requested');
  const item = itemOf(subscription);
  const price = books.find('price', books.pricesFromRenewal.get(subscription.id));
  if (price !== undefined) {
    item.price = structuredClone(price);
    books.pricesFromRenewal.delete(subscription.id);
    subscription.schedule = null;
  }
  const start = item.current_period_end;
  const years =
    new Date(1_000 * start).getUTCFullYear() - new Date(1_000 * subscription.billing_cycle_anchor).getUTCFullYear();
  const finish = yearsAfter(subscription.billing_cycle_anchor, years + 1);
  const period = { start, end: finish };
  const invoice = draftInvoice(books, subscription, {
    reason: 'subscription_cycle',
    total: item.price.unit_amount ?? 0,
    period,
  });
  Object.assign(item, { current_period_start: start, current_period_end: finish });
  books.collections.set(invoice.id, { at: start + DRAFT_SECONDS, subscriptionId: subscription.id, attempts: 0 });
  books.tell('customer.subscription.updated', subscription);
}

/** One attempt on a renewal's invoice. @param card what its bank does, if not what it usually does. */
export function collectAgain(books: Books, invoice: Stripe.Invoice, renewals: Renewals, card?: Card): boolean {
  const collection = books.collections.get(invoice.id);
  const subscription = books.get('subscription', idIn(invoice.parent?.subscription_details?.subscription));
  const attempts = collection?.attempts ?? 0;
  const wait = RETRIES_AFTER_SECONDS[attempts];
  books.collections.delete(invoice.id);
  if (wait !== undefined) invoice.next_payment_attempt = books.now() + wait;
  else invoice.next_payment_attempt = null;
  if (collect(books, invoice, subscription, card ?? (renewals.failRenewals ? 'declined' : undefined))) {
    setStatus(books, subscription, 'active');
    return true;
  }
  if (wait !== undefined) {
    setStatus(books, subscription, 'past_due');
    const retry = { at: books.now() + wait, subscriptionId: subscription.id, attempts: attempts + 1 };
    books.collections.set(invoice.id, retry);
  } else if (renewals.afterRetries === 'canceled') end(books, subscription, 'payment_failed');
  else setStatus(books, subscription, renewals.afterRetries);
  return false;
}

function setStatus(books: Books, subscription: Stripe.Subscription, status: Stripe.Subscription.Status): void {
  if (subscription.status === status || isOver(subscription)) return;
  subscription.status = status;
  books.tell('customer.subscription.updated', subscription);
}
