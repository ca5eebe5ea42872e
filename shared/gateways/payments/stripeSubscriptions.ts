import type Stripe from 'stripe';
import { type InvoiceReversals, type PaymentProcessor, ProcessorError } from './processor.ts';
import { found, said, underKey, unlessDone } from './stripeAnswers.ts';
import { creditedElsewhere } from './stripeInvoices.ts';
import { asSubscription, idOf, isOpen, lastInvoiceOf, type PlanPrices, refundedOf } from './stripeShapes.ts';

type Subscriptions = Pick<
  PaymentProcessor,
  | 'readSubscription'
  | 'cancelSubscription'
  | 'changePlan'
  | 'isBeingPaid'
  | 'readReversals'
  | 'refundInvoice'
  | 'readRefund'
>;

interface Reading {
  stripe: Stripe;
  prices: PlanPrices;
  disputesOf: (charge: Stripe.Charge) => Promise<Stripe.Dispute[]>;
}

/** One payment of an invoice. */
interface Part {
  intent: Stripe.PaymentIntent;
  charge: Stripe.Charge;
  disputes: Stripe.Dispute[];
  paidCents: number;
}

/** Subscriptions, and the money of their invoices. */
export function subscriptions({ stripe, prices, disputesOf }: Reading): Subscriptions {
  /** The payments of an invoice; what was paid outside of Stripe has none. */
  async function partsOf(invoiceId: string): Promise<Part[]> {
    const order = { invoice: invoiceId, status: 'paid' as const, limit: 100 };
    const parts: Part[] = [];
    for (const { payment, amount_paid: paidCents } of (await said(stripe.invoicePayments.list(order))).data) {
      const intentId = idOf(payment.payment_intent);
      if (intentId === null) continue;
      const intent = await said(stripe.paymentIntents.retrieve(intentId, { expand: ['latest_charge'] }));
      const charge = intent.latest_charge;
      if (typeof charge !== 'object' || charge === null) continue;
      parts.push({ intent, charge, disputes: await disputesOf(charge), paidCents: paidCents ?? 0 });
    }
    return parts;
  }

  /** What is asked for and not paid yet; what a bank is at cannot be taken back. */
  async function voidOpenInvoice(subscription: Stripe.Subscription | null): Promise<void> {
    const invoice = subscription === null ? null : lastInvoiceOf(subscription);
    if (invoice === null || invoice.status !== 'open' || invoice.id === undefined) return;
    await said(stripe.invoices.voidInvoice(invoice.id)).catch((error: unknown) => {
      if (!(error instanceof ProcessorError) || error.fault !== 'refused') throw error;
    });
  }

  return {
    readSubscription: async (subscriptionId) => {
      const subscription = await found(stripe.subscriptions.retrieve(subscriptionId, { expand: ['latest_invoice'] }));
      if (subscription === null) return null;
      const { data } = await said(stripe.invoices.list({ subscription: subscriptionId, status: 'paid', limit: 100 }));
      return asSubscription(subscription, prices, data);
    },

    cancelSubscription: async (subscriptionId) => {
      const expand = ['latest_invoice'];
      const ended = await found(stripe.subscriptions.cancel(subscriptionId, { expand }));
      await voidOpenInvoice(ended ?? (await found(stripe.subscriptions.retrieve(subscriptionId, { expand }))));
    },

    changePlan: async (subscriptionId, plan) => {
      const subscription = await said(stripe.subscriptions.retrieve(subscriptionId));
      const item = subscription.items.data[0]?.id ?? '';
      await said(
        stripe.subscriptions.update(subscriptionId, {
          items: [{ id: item, price: prices[plan][0] }],
          proration_behavior: 'none',
        }),
      );
    },

    isBeingPaid: async (subscriptionId) => {
      const subscription = await found(stripe.subscriptions.retrieve(subscriptionId));
      const invoice = idOf(subscription?.latest_invoice);
      if (invoice === null) return false;
      const order = { invoice, status: 'open' as const, limit: 1, expand: ['data.payment.payment_intent'] };
      const intent = (await said(stripe.invoicePayments.list(order))).data[0]?.payment.payment_intent;
      return typeof intent === 'object' && intent.status === 'processing';
    },

    readReversals: async ({ id: invoiceId, hasCreditNotes }) => {
      const reversals: InvoiceReversals = {
        refundedCents: hasCreditNotes ? await creditedElsewhere(stripe, invoiceId) : 0,
        openDispute: null,
        lostDispute: null,
      };
      for (const { charge, disputes, paidCents } of await partsOf(invoiceId)) {
        reversals.refundedCents += Math.min(paidCents, refundedOf(charge, disputes));
        if (disputes.some(isOpen)) reversals.openDispute ??= charge.id;
        if (disputes.some(({ status }) => status === 'lost')) reversals.lostDispute ??= charge.id;
      }
      return reversals;
    },

    refundInvoice: async (invoiceId) => {
      let outcome: 'refunded' | 'disputed' | 'lost' = 'refunded';
      for (const { intent, charge, disputes } of await partsOf(invoiceId)) {
        if (refundedOf(charge, disputes) >= charge.amount) continue;
        if (disputes.some(isOpen)) {
          outcome = 'disputed';
          continue;
        }
        const order = { payment_intent: intent.id };
        const refund = underKey(`refund-${intent.id}`, (options) => stripe.refunds.create(order, options));
        // Stripe may refund nothing of a charge that was disputed, whoever has won.
        if ((await unlessDone(refund, ['charge_already_refunded', 'charge_disputed'])) !== 'charge_disputed') continue;
        // A dispute that was opened just now is seen by the next attempt.
        if (disputes.length === 0) outcome = 'disputed';
        else if (outcome === 'refunded') outcome = 'lost';
      }
      return outcome;
    },

    readRefund: async (refundId) => {
      const refund = await found(stripe.refunds.retrieve(refundId));
      return refund && { chargeId: idOf(refund.charge), isFailed: refund.status === 'failed' };
    },
  };
}
