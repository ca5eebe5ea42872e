import type Stripe from 'stripe';
import { type StripeStore, getId } from './store.ts';
import { collectInvoice, draftInvoice, voidInvoice } from './invoices.ts';
import { isEnded, getItem } from './subscriptions.ts';

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

/** Applies an upgrade right away and charges the rest of the year, or credits it to the customer's balance. */
function changePriceNow(store: StripeStore, subscription: Stripe.Subscription, price: Stripe.Price): SwitchOutcome {
  const item = getItem(subscription);
  const { price: before, current_period_start: start, current_period_end: end } = item;
  const left = (end - store.now()) / (end - start);
  const total = Math.round(left * ((price.unit_amount ?? 0) - (before.unit_amount ?? 0)));
  const invoiceBefore = subscription.latest_invoice;
  item.price = structuredClone(price);
  const invoice = draftInvoice(store, subscription, {
    reason: 'subscription_update',
    total,
    period: { start: store.now(), end },
  });
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
