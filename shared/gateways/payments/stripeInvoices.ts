import type Stripe from 'stripe';
import type { PaidInvoice, ProcessorPayment } from './paymentProcessor.ts';
import { findOrNull, unwrap } from './stripeResponses.ts';
import {
  ACCOUNT_KEY,
  CURRENCY,
  fromUnixSeconds,
  getStripeId,
  getSubscriptionId,
  getMetadataUuid,
} from './stripeMappers.ts';

interface InvoiceReadContext {
  stripe: Stripe;
  /** Reads a payment. */
  readPaymentIntent: (intentId: string) => Promise<ProcessorPayment | null>;
  /** The ids of all prices of our plans. */
  planPriceIds: ReadonlySet<string>;
}

/** An invoice that was paid, and what has become of the money since. */
export async function readPaidInvoice(
  invoiceId: string,
  { stripe, readPaymentIntent, planPriceIds }: InvoiceReadContext,
): Promise<PaidInvoice | null> {
  const invoice = await findOrNull(stripe.invoices.retrieve(invoiceId));
  const customerId = getStripeId(invoice?.customer);
  const subscriptionId = getSubscriptionId(invoice);
  if (invoice === null || customerId === null || invoice.status !== 'paid' || subscriptionId === null) return null;
  let capturedCents = 0;
  const hasCreditNotes = invoice.post_payment_credit_notes_amount > 0;
  let reversedCents = hasCreditNotes ? await sumOutOfBandCredits(stripe, invoiceId) : 0;
  // One as a rule; where it was paid in parts, all of them. What was paid outside of Stripe has no payment there.
  const { data } = await unwrap(stripe.invoicePayments.list({ invoice: invoiceId, status: 'paid', limit: 100 }));
  for (const { payment, amount_paid: partCents } of data) {
    const intentId = getStripeId(payment.payment_intent);
    if (intentId === null) continue;
    capturedCents += partCents ?? 0;
    reversedCents += (await readPaymentIntent(intentId))?.reversedCents ?? 0;
  }
  const paidCents = Math.min(invoice.amount_paid, capturedCents);
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
    reversedCents: Math.min(paidCents, reversedCents),
  };
}

/** What was given back outside of Stripe, and written down there as a credit note. */
export async function sumOutOfBandCredits(stripe: Stripe, invoice: string): Promise<number> {
  const { data } = await unwrap(stripe.creditNotes.list({ invoice, limit: 100 }));
  const issued = data.filter(({ status }) => status === 'issued');
  return issued.reduce((sum, { out_of_band_amount: cents }) => sum + (cents ?? 0), 0);
}

/** What was paid without its tax, rounded down: in proportion, where not all of the total was paid by Stripe. */
function computeNetCents(
  paidCents: number,
  { total, total_excluding_tax: net, total_taxes: taxes }: Stripe.Invoice,
): number {
  if (total <= 0) return 0;
  const withoutTax = net ?? total - (taxes ?? []).reduce((sum, { amount }) => sum + amount, 0);
  return Number((BigInt(paidCents) * BigInt(Math.min(total, Math.max(0, withoutTax)))) / BigInt(total));
}
