import type Stripe from 'stripe';
import { type StripeStore, getId } from './store.ts';
import { collectInvoice, draftInvoice, voidInvoice } from './invoices.ts';
import { isEnded, getItem, setSubscriptionStatus } from './subscriptions.ts';
import { type AfterFailedRetries, giveUpCollection, scheduleRetry } from './testClock.ts';

/** `declined`: the difference could not be charged, and nothing has changed. */
export type SwitchOutcome = 'switched' | 'scheduled' | 'declined';

/** Confirms the plan change that a portal page was opened for. A page can be confirmed once. */
export function applyPlanSwitch(store: StripeStore, session: Stripe.BillingPortal.Session): SwitchOutcome {
  const update = session.flow?.subscription_update_confirm;
  if (update == null) throw new Error(`${session.id} is not a page for a plan change.`);
  const subscription = store.get('subscription', getId(update.subscription));
  if (isEnded(subscription)) throw new Error(`${subscription.id} has ended and cannot be changed.`);
  if (confirmed.has(session)) throw new Error(`${session.id} was confirmed already.`);
  const price = store.get('price', update.items[0]?.price);
  const difference = (price.unit_amount ?? 0) - (getItem(subscription).price.unit_amount ?? 0);
  const outcome =
    difference < 0 && isScheduledForRenewal(store, session)
      ? schedulePriceChange(store, subscription, price)
      : changePriceNow(store, subscription, price);
  if (outcome !== 'declined') confirmed.add(session);
  return outcome;
}

const confirmed = new WeakSet<Stripe.BillingPortal.Session>();

function isScheduledForRenewal(store: StripeStore, session: Stripe.BillingPortal.Session): boolean {
  const { features } = store.get('billing_portal.configuration', getId(session.configuration));
  const conditions = features.subscription_update.schedule_at_period_end?.conditions ?? [];
  return conditions.some(({ type }) => type === 'decreasing_item_amount');
}

/** Schedules a downgrade for the renewal. */
function schedulePriceChange(
  store: StripeStore,
  subscription: Stripe.Subscription,
  price: Stripe.Price,
): SwitchOutcome {
  store.scheduledPrices.set(subscription.id, price.id);
  subscription.schedule = store.newId('sub_sched');
  store.emit('customer.subscription.updated', subscription);
  return 'scheduled';
}

/** Changes the price and drafts the invoice over the rest of the year. */
function prorate(store: StripeStore, subscription: Stripe.Subscription, price: Stripe.Price): Stripe.Invoice {
  const item = getItem(subscription);
  const { price: before, current_period_start: start, current_period_end: end } = item;
  const left = (end - store.now()) / (end - start);
  const total = Math.round(left * ((price.unit_amount ?? 0) - (before.unit_amount ?? 0)));
  item.price = structuredClone(price);
  return draftInvoice(store, subscription, {
    reason: 'subscription_update',
    total,
    priceBefore: before,
    period: { start: store.now(), end },
  });
}

/**
 * Changes the price outside of the portal, with a card that is declined: the new price stays, and its invoice is open.
 * @param afterRetries the status after all attempts; without it, they are still made.
 */
export function failUpgrade(
  store: StripeStore,
  subscription: Stripe.Subscription,
  price: Stripe.Price,
  afterRetries?: AfterFailedRetries,
): Stripe.Invoice {
  const { price: before } = getItem(subscription);
  const invoice = prorate(store, subscription, price);
  if (invoice.total <= 0) throw new Error(`${price.id} is not an upgrade.`);
  if (!store.paidPrices.has(subscription.id)) store.paidPrices.set(subscription.id, before.id);
  collectInvoice(store, invoice, subscription, 'declined');
  store.emit('customer.subscription.updated', subscription);
  setSubscriptionStatus(store, subscription, 'past_due');
  if (afterRetries === undefined) scheduleRetry(store, subscription, invoice);
  else giveUpCollection(store, subscription, afterRetries);
  return invoice;
}

/** Applies an upgrade right away and charges the rest of the year, or credits it to the customer's balance. */
function changePriceNow(store: StripeStore, subscription: Stripe.Subscription, price: Stripe.Price): SwitchOutcome {
  const item = getItem(subscription);
  const { price: before } = item;
  const invoiceBefore = subscription.latest_invoice;
  const invoice = prorate(store, subscription, price);
  const { total } = invoice;
  if (total < 0) store.get('customer', getId(subscription.customer)).balance += total;
  if (!collectInvoice(store, invoice, subscription)) {
    voidInvoice(store, invoice);
    item.price = before;
    subscription.latest_invoice = invoiceBefore;
    return 'declined';
  }
  store.scheduledPrices.delete(subscription.id);
  subscription.schedule = null;
  store.emit('customer.subscription.updated', subscription);
  return 'switched';
}
