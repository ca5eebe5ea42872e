import type Stripe from 'stripe';
import { type StripeStore, getId } from './store.ts';
import { isEnded } from './subscriptions.ts';

/**
 * Returns the id of a customer. @param reference the id of the customer, a subscription or a page, a page's URL, or the
 * account's uuid.
 */
export function findCustomerId(store: StripeStore, reference: string): string {
  const id = /(?:sub|cs_test)_\w+/.exec(reference)?.[0];
  const owned = store.find('subscription', id) ?? store.find('checkout.session', id);
  if (owned !== undefined) return getId(owned.customer);
  const customer = store
    .list('customer')
    .find((known) => known.id === reference || known.metadata['account_uuid'] === reference);
  if (customer === undefined) throw new Error(`No customer ${reference}.`);
  return customer.id;
}

/** Returns a subscription, or the newest one of a customer, preferably one that has not ended. */
export function findSubscription(store: StripeStore, reference: string): Stripe.Subscription {
  const named = store.find('subscription', reference);
  if (named !== undefined) return named;
  const customerId = findCustomerId(store, reference);
  const own = store.list('subscription').filter(({ customer }) => customer === customerId);
  const subscription = own.find((candidate) => !isEnded(candidate)) ?? own[0];
  if (subscription === undefined) throw new Error(`${reference} never had a subscription.`);
  return subscription;
}

/** Returns a checkout page by its id or URL, or the newest one of a customer, preferably an open one. */
export function findCheckoutSession(store: StripeStore, reference: string): Stripe.Checkout.Session {
  const named = store.find('checkout.session', /cs_test_\w+/.exec(reference)?.[0]);
  if (named !== undefined) return named;
  const customerId = findCustomerId(store, reference);
  const own = store.list('checkout.session').filter(({ customer }) => customer === customerId);
  const session = own.find(({ status }) => status === 'open') ?? own[0];
  if (session === undefined) throw new Error(`No page was opened for ${reference}.`);
  return session;
}
