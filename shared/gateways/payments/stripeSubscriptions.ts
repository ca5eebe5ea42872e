import type Stripe from 'stripe';
import type { PaymentProcessor } from './paymentProcessor.ts';
import { findOrNull, ignoreIfRejected, type StripeOptions, unwrap } from './stripeClient.ts';
import {
  getLatestInvoice,
  getStripeId,
  HELD_PRICE_KEY,
  HOLD_METADATA,
  NO_HOLD_METADATA,
  PRICE_FROM_KEY,
  toProcessorSubscription,
} from './stripeMappers.ts';

/** Builds the change to another price without proration: the next renewal charges it. */
function buildPriceChange({ items }: Stripe.Subscription, price: string): Stripe.SubscriptionUpdateParams {
  return { items: [{ id: items.data[0]?.id ?? '', price }], proration_behavior: 'none' };
}

/** Far more than a subscription has. */
const MAX_INVOICES = 10_000;

export function buildSubscriptionMethods(stripe: Stripe, { prices }: StripeOptions) {
  /** Voids the open invoice of a subscription. An invoice whose payment a bank is processing cannot be voided. */
  async function voidOpenInvoice(subscription: Stripe.Subscription | null): Promise<void> {
    const invoice = subscription === null ? null : getLatestInvoice(subscription);
    if (invoice === null || invoice.status !== 'open' || invoice.id === undefined) return;
    await ignoreIfRejected(stripe.invoices.voidInvoice(invoice.id));
  }

  /** Drops the plan change that is scheduled: Stripe rejects a change of the renewal before. */
  async function releaseSchedule({ schedule }: Stripe.Subscription): Promise<void> {
    const id = getStripeId(schedule);
    if (id !== null) await unwrap(stripe.subscriptionSchedules.release(id));
  }

  /** Stores the price of a scheduled plan change, before the schedule is dropped: any call may be the last one. */
  async function holdRenewal(subscription: Stripe.Subscription): Promise<void> {
    const { id } = subscription;
    const scheduleId = getStripeId(subscription.schedule);
    if (scheduleId !== null) {
      const { phases } = await unwrap(stripe.subscriptionSchedules.retrieve(scheduleId));
      const price = getStripeId(phases.at(-1)?.items[0]?.price) ?? '';
      await unwrap(stripe.subscriptions.update(id, { metadata: { ...HOLD_METADATA, [HELD_PRICE_KEY]: price } }));
      await releaseSchedule(subscription);
    }
    await unwrap(stripe.subscriptions.update(id, { cancel_at_period_end: true, metadata: HOLD_METADATA }));
  }

  async function resumeRenewal(subscription: Stripe.Subscription): Promise<void> {
    const { id, schedule, items } = subscription;
    const price = subscription.metadata[HELD_PRICE_KEY];
    const from = `${price} ${items.data[0]?.current_period_end}`;
    const change: Stripe.SubscriptionUpdateParams =
      price === undefined
        ? { metadata: NO_HOLD_METADATA }
        : { ...buildPriceChange(subscription, price), metadata: { ...NO_HOLD_METADATA, [PRICE_FROM_KEY]: from } };
    // While another plan is scheduled, the renewal was not stopped yet.
    const resumed = schedule === null ? { ...change, cancel_at_period_end: false } : { metadata: NO_HOLD_METADATA };
    await unwrap(stripe.subscriptions.update(id, resumed));
  }

  return {
    readSubscription: async (subscriptionId) => {
      const subscription = await findOrNull(
        stripe.subscriptions.retrieve(subscriptionId, { expand: ['latest_invoice'] }),
      );
      if (subscription === null) return null;
      const list = stripe.invoices.list({ subscription: subscriptionId, limit: 100 });
      return toProcessorSubscription(
        subscription,
        prices,
        await unwrap(list.autoPagingToArray({ limit: MAX_INVOICES })),
      );
    },

    cancelSubscription: async (subscriptionId) => {
      const expand = ['latest_invoice'];
      const ended = await findOrNull(stripe.subscriptions.cancel(subscriptionId, { expand }));
      await voidOpenInvoice(ended ?? (await findOrNull(stripe.subscriptions.retrieve(subscriptionId, { expand }))));
    },

    setCancelAtPeriodEnd: async (subscriptionId, isCanceled) => {
      await releaseSchedule(await unwrap(stripe.subscriptions.retrieve(subscriptionId)));
      const change = { cancel_at_period_end: isCanceled, metadata: NO_HOLD_METADATA };
      await unwrap(stripe.subscriptions.update(subscriptionId, change));
    },

    setRenewalHeld: async (subscriptionId, isHeld) => {
      const subscription = await unwrap(stripe.subscriptions.retrieve(subscriptionId));
      await (isHeld ? holdRenewal : resumeRenewal)(subscription);
    },

    changePrice: async (subscriptionId, price) => {
      const subscription = await unwrap(stripe.subscriptions.retrieve(subscriptionId));
      await unwrap(stripe.subscriptions.update(subscriptionId, buildPriceChange(subscription, price)));
    },

    isPaymentProcessing: async (subscriptionId) => {
      const subscription = await findOrNull(stripe.subscriptions.retrieve(subscriptionId));
      const invoice = getStripeId(subscription?.latest_invoice);
      if (invoice === null) return false;
      const params = { invoice, status: 'open' as const, limit: 1, expand: ['data.payment.payment_intent'] };
      const intent = (await unwrap(stripe.invoicePayments.list(params))).data[0]?.payment.payment_intent;
      if (typeof intent !== 'object') return false;
      return intent.status === 'processing' || intent.next_action?.type === 'verify_with_microdeposits';
    },
  } satisfies Partial<PaymentProcessor>;
}
