import type Stripe from 'stripe';
import { type StripeStore, getId } from './store.ts';
import { isEnded } from './subscriptions.ts';

/** The id of a customer. @param reference it, or a subscription's, a page's or its address, or the account's uuid. */
export function findCustomerId(store: StripeStore, reference: string): string {
  const id = /(?:sub|cs_test)_\w+/.exec(reference)?.[0];
  const owned = store.find('subscription', id) ?? store.find('checkout.session', id);
  if (owned !== undefined) return getId(owned.customer);
  const customer = store
    .list('customer')
    .find((known) => known.id === reference || known.metadata['account_uuid'] === reference);
  if (customer === undefined) throw new Error(`Stripe knows no customer ${reference}.`);
  return customer.id;
}

/** A subscription, or the newest one of a customer, preferably one that is not over. */
export function findSubscription(store: StripeStore, reference: string): Stripe.Subscription {
  const named = store.find('subscription', reference);
  if (named !== undefined) return named;
  const customerId = findCustomerId(store, reference);
  const own = store.list('subscription').filter(({ customer }) => customer === customerId);
  const subscription = own.find((candidate) => !isEnded(candidate)) ?? own[0];
  if (subscription === undefined) throw new Error(`${reference} never had a subscription.`);
  return subscription;
}

/** A checkout page by its id or address, or the newest one of a customer, preferably one that is open. */
export function findCheckoutSession(store: StripeStore, reference: string): Stripe.Checkout.Session {
  const named = store.find('checkout.session', /cs_test_\w+/.exec(reference)?.[0]);
  if (named !== undefined) return named;
  const customerId = findCustomerId(store, reference);
  const own = store.list('checkout.session').filter(({ customer }) => customer === customerId);
  const session = own.find(({ status }) => status === 'open') ?? own[0];
  if (session === undefined) throw new Error(`No page was opened for ${reference}.`);
  return session;
}
