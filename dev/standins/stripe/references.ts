import type Stripe from 'stripe';
import { type Books, idIn } from './books.ts';
import { isOver } from './subscriptions.ts';

/** The id of a customer. @param reference it, or a subscription's, a page's or its address, or the account's uuid. */
export function customerOf(books: Books, reference: string): string {
  const id = /(?:sub|cs_test)_\w+/.exec(reference)?.[0];
  const owned = books.find('subscription', id) ?? books.find('checkout.session', id);
  if (owned !== undefined) return idIn(owned.customer);
  const customer = books
    .list('customer')
    .find((known) => known.id === reference || known.metadata['account_uuid'] === reference);
  if (customer === undefined) throw new Error(`Stripe knows no customer ${reference}.`);
  return customer.id;
}

/** A subscription, or the newest one of a customer, preferably one that is not over. */
export function subscriptionOf(books: Books, reference: string): Stripe.Subscription {
  const named = books.find('subscription', reference);
  if (named !== undefined) return named;
  const customerId = customerOf(books, reference);
  const own = books.list('subscription').filter(({ customer }) => customer === customerId);
  const subscription = own.find((candidate) => !isOver(candidate)) ?? own[0];
  if (subscription === undefined) throw new Error(`${reference} never had a subscription.`);
  return subscription;
}

/** A checkout page by its id or address, or the newest one of a customer, preferably one that is open. */
export function sessionOf(books: Books, reference: string): Stripe.Checkout.Session {
  const named = books.find('checkout.session', /cs_test_\w+/.exec(reference)?.[0]);
  if (named !== undefined) return named;
  const customerId = customerOf(books, reference);
  const own = books.list('checkout.session').filter(({ customer }) => customer === customerId);
  const session = own.find(({ status }) => status === 'open') ?? own[0];
  if (session === undefined) throw new Error(`No page was opened for ${reference}.`);
  return session;
}
