import type Stripe from 'stripe';
import type { PaymentProcessor, RefundOutcome } from './paymentProcessor.ts';
import { findOrNull, type StripeOptions, unwrap } from './stripeClient.ts';
import {
  ACCOUNT_KEY,
  computeReversals,
  CURRENCY,
  fromUnixSeconds,
  getLatestCharge,
  getMetadataUuid,
  getStripeId,
  getSubscriptionId,
  getTotalWithoutTax,
  hasCreditNotes,
  isDisputeOpen,
  toProcessorInvoice,
} from './stripeMappers.ts';
import { computeUnreturnedCents, listDisputes, refundCharge } from './stripePayments.ts';

/** One payment of an invoice. */
interface InvoicePayment {
  intent: Stripe.PaymentIntent;
  charge: Stripe.Charge;
  disputes: Stripe.Dispute[];
  paidCents: number;
}

/** An amount that was returned to a customer. The amount of a dispute is withdrawn when it is opened. */
interface Return {
  cents: number;
  at: Date;
}

function sumCents(returns: Return[]): number {
  return returns.reduce((sum, { cents }) => sum + cents, 0);
}

function toReturns(objects: readonly (Stripe.Refund | Stripe.Dispute)[]): Return[] {
  return objects.map(({ amount, created }) => ({ cents: amount, at: fromUnixSeconds(created) }));
}

function sumPaidCents(payments: readonly InvoicePayment[]): number {
  return payments.reduce((sum, { paidCents }) => sum + paidCents, 0);
}

/** Adds up what was returned of an invoice: credits outside of Stripe, and of each payment at most what it paid. */
function sumReversals(credits: Return[], payments: readonly InvoicePayment[]) {
  let returnedCents = sumCents(credits);
  let reversedCents = returnedCents;
  for (const { charge, disputes, paidCents } of payments) {
    const reversals = computeReversals(charge, disputes);
    returnedCents += Math.min(paidCents, reversals.returnedCents);
    reversedCents += Math.min(paidCents, reversals.reversedCents);
  }
  return { returnedCents, reversedCents };
}

/** Returns when the sum of the returned amounts has reached the paid one. */
function findReturnTime(returns: Return[], paidCents: number): Date | null {
  let cents = 0;
  const inOrder = returns.toSorted((a, b) => a.at.getTime() - b.at.getTime());
  for (const { at, cents: part } of inOrder) {
    cents += part;
    if (cents >= paidCents) return at;
  }
  return inOrder.at(-1)?.at ?? null;
}

/** Returns the paid amount without tax, rounded down, in proportion if only a part was paid through Stripe. */
function computeNetCents(paidCents: number, invoice: Stripe.Invoice): number {
  const { total } = invoice;
  if (total <= 0) return 0;
  const withoutTax = getTotalWithoutTax(invoice);
  return Number((BigInt(paidCents) * BigInt(Math.min(total, Math.max(0, withoutTax)))) / BigInt(total));
}

/** Builds the methods for the invoices of subscriptions, with their payments, refunds, disputes and credit notes. */
export function buildInvoiceMethods(stripe: Stripe, { prices }: StripeOptions) {
  const planPriceIds = new Set(Object.values(prices).flat());

  /**
   * Returns the payments of an invoice: usually one, several if it was paid in parts. One outside of Stripe is not
   * listed.
   */
  async function listInvoicePayments(invoiceId: string): Promise<InvoicePayment[]> {
    const params = { invoice: invoiceId, status: 'paid' as const, limit: 100 };
    const parts: InvoicePayment[] = [];
    for (const { payment, amount_paid: paidCents } of (await unwrap(stripe.invoicePayments.list(params))).data) {
      const intentId = getStripeId(payment.payment_intent);
      if (intentId === null) continue;
      const intent = await unwrap(stripe.paymentIntents.retrieve(intentId, { expand: ['latest_charge'] }));
      const charge = getLatestCharge(intent);
      if (charge === null) continue;
      parts.push({ intent, charge, disputes: await listDisputes(stripe, charge), paidCents: paidCents ?? 0 });
    }
    return parts;
  }

  /** Lists what was returned of a charge by refunds and by disputes, counted as in `computeReversals`. */
  async function listReturns({ charge, disputes }: InvoicePayment): Promise<Return[]> {
    const refunds =
      charge.amount_refunded === 0 ? [] : (await unwrap(stripe.refunds.list({ charge: charge.id, limit: 100 }))).data;
    const kept = toReturns(refunds.filter(({ status }) => status !== 'failed' && status !== 'canceled'));
    const prevented = toReturns(disputes.filter(({ status }) => status === 'prevented'));
    const lost = toReturns(disputes.filter(({ status }) => status === 'lost'));
    return [...(sumCents(kept) >= sumCents(prevented) ? kept : prevented), ...lost];
  }

  /** Lists the amounts that were refunded outside of Stripe and recorded as credit notes. */
  async function listOutOfBandCredits(invoice: string, hasCreditNotes: boolean): Promise<Return[]> {
    if (!hasCreditNotes) return [];
    const { data } = await unwrap(stripe.creditNotes.list({ invoice, limit: 100 }));
    const issued = data.filter(({ status }) => status === 'issued');
    return issued.map(({ out_of_band_amount: cents, created }) => ({
      cents: cents ?? 0,
      at: fromUnixSeconds(created),
    }));
  }

  return {
    readReversals: async ({ id: invoiceId, paidCents: invoiceCents, hasCreditNotes }) => {
      const credits = await listOutOfBandCredits(invoiceId, hasCreditNotes);
      const payments = await listInvoicePayments(invoiceId);
      const openDispute = payments.find(({ disputes }) => disputes.some(isDisputeOpen))?.charge.id ?? null;
      const reversals = { ...sumReversals(credits, payments), openDispute };
      if (invoiceCents <= 0 || reversals.returnedCents < invoiceCents) return { ...reversals, returnedAt: null };
      const returns = [...credits];
      for (const payment of payments) returns.push(...(await listReturns(payment)));
      return { ...reversals, returnedAt: findReturnTime(returns, invoiceCents) };
    },

    refundInvoice: async (invoiceId) => {
      const invoice = await unwrap(stripe.invoices.retrieve(invoiceId));
      const parts = await listInvoicePayments(invoiceId);
      const credits = await listOutOfBandCredits(invoiceId, hasCreditNotes(invoice));
      const paidOutsideCents = Math.max(0, invoice.amount_paid - sumPaidCents(parts));
      // Credits beyond the amount paid outside of Stripe reduce what is owed of the charges.
      let unusedCents = Math.max(0, sumCents(credits) - paidOutsideCents);
      let outcome: RefundOutcome = 'refunded';
      for (const { intent, charge, disputes } of parts) {
        const creditedCents = Math.min(unusedCents, computeUnreturnedCents(charge, disputes));
        unusedCents -= creditedCents;
        const part = await refundCharge(stripe, intent.id, { charge, disputes, creditedCents });
        if (part === 'disputed') outcome = 'disputed';
        else if (part === 'refused' && outcome === 'refunded') outcome = 'refused';
      }
      if (outcome !== 'refunded') return outcome;
      return sumCents(credits) < paidOutsideCents ? 'incomplete' : 'refunded';
    },

    readRefund: async (refundId) => {
      const refund = await findOrNull(stripe.refunds.retrieve(refundId));
      if (refund === null) return null;
      const chargeId = getStripeId(refund.charge);
      const charge = chargeId === null ? null : await findOrNull(stripe.charges.retrieve(chargeId));
      const isChargeRefunded = charge !== null && charge.amount_refunded >= charge.amount;
      return { chargeId, isFailed: refund.status === 'failed', isChargeRefunded };
    },

    findInvoiceSubscription: async (invoiceId) =>
      getSubscriptionId(await findOrNull(stripe.invoices.retrieve(invoiceId))),

    findCreditedInvoice: async (creditNoteId) =>
      getStripeId((await findOrNull(stripe.creditNotes.retrieve(creditNoteId)))?.invoice),

    readInvoice: async (invoiceId) => {
      const invoice = await findOrNull(stripe.invoices.retrieve(invoiceId));
      const customerId = getStripeId(invoice?.customer);
      const subscriptionId = getSubscriptionId(invoice);
      if (invoice === null || customerId === null || invoice.status !== 'paid' || subscriptionId === null) return null;
      const credits = await listOutOfBandCredits(invoiceId, hasCreditNotes(invoice));
      const payments = await listInvoicePayments(invoiceId);
      const paidCents = Math.min(invoice.amount_paid, sumPaidCents(payments));
      return {
        customerId,
        subscriptionId,
        accountUuid: getMetadataUuid(invoice.parent?.subscription_details?.metadata ?? null, ACCOUNT_KEY),
        isSupportedCurrency: invoice.currency === CURRENCY,
        isForPlan: invoice.lines.data.some(({ pricing }) =>
          planPriceIds.has(getStripeId(pricing?.price_details?.price) ?? ''),
        ),
        paidAt: fromUnixSeconds(invoice.status_transitions.paid_at ?? invoice.created),
        paidCents,
        netCents: computeNetCents(paidCents, invoice),
        reversedCents: Math.min(paidCents, sumReversals(credits, payments).reversedCents),
      };
    },

    readInvoiceDocument: async (invoiceId) => {
      const invoice = await findOrNull(stripe.invoices.retrieve(invoiceId));
      return invoice === null ? null : toProcessorInvoice(invoice);
    },
  } satisfies Partial<PaymentProcessor>;
}
