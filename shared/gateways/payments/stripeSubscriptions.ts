import type Stripe from 'stripe';
import type { PaymentProcessor } from './paymentProcessor.ts';
import { findOrNull, ignoreIfRejected, type StripeOptions, unwrap } from './stripeClient.ts';
import { buildHoldMetadata, getLatestInvoice, getStripeId, toProcessorSubscription } from './stripeMappers.ts';

/** Far more than a subscription has. */
const MAX_INVOICES = 10_000;

export function buildSubscriptionMethods(stripe: Stripe, { prices }: StripeOptions) {
  /** Voids the open invoice of a subscription. An invoice whose payment a bank is processing cannot be voided. */
  async function voidOpenInvoice(subscription: Stripe.Subscription | null): Promise<void> {
    const invoice = subscription === null ? null : getLatestInvoice(subscription);
    if (invoice === null || invoice.status !== 'open' || invoice.id === undefined) return;
    await ignoreIfRejected(stripe.invoices.voidInvoice(invoice.id));
  }

  async function setRenewal(id: string, { isCanceled, isHeld }: { isCanceled: boolean; isHeld: boolean }) {
    const changes = { cancel_at_period_end: isCanceled, metadata: buildHoldMetadata(isHeld) };
    await unwrap(stripe.subscriptions.update(id, changes));
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
      const { schedule } = await unwrap(stripe.subscriptions.retrieve(subscriptionId));
      const scheduleId = getStripeId(schedule);
      // Stripe rejects the change while another plan is scheduled for the renewal.
      if (scheduleId !== null) await unwrap(stripe.subscriptionSchedules.release(scheduleId));
      await setRenewal(subscriptionId, { isCanceled, isHeld: false });
    },

    setRenewalHeld: async (subscriptionId, isHeld) => {
      const { schedule } = await unwrap(stripe.subscriptions.retrieve(subscriptionId));
      if (schedule === null) await setRenewal(subscriptionId, { isCanceled: isHeld, isHeld });
    },

    changePrice: async (subscriptionId, price) => {
      const subscription = await unwrap(stripe.subscriptions.retrieve(subscriptionId));
      const item = subscription.items.data[0]?.id ?? '';
      await unwrap(
        stripe.subscriptions.update(subscriptionId, {
          items: [{ id: item, price }],
          proration_behavior: 'none',
        }),
      );
    },

    isPaymentProcessing: async (subscriptionId) => {
      const subscription = await findOrNull(stripe.subscriptions.retrieve(subscriptionId));
      const invoice = getStripeId(subscription?.latest_invoice);
      if (invoice === null) return false;
      const params = { invoice, status: 'open' as const, limit: 1, expand: ['data.payment.payment_intent'] };
      const intent = (await unwrap(stripe.invoicePayments.list(params))).data[0]?.payment.payment_intent;
      return typeof intent === 'object' && intent.status === 'processing';
    },
  } satisfies Partial<PaymentProcessor>;
}
