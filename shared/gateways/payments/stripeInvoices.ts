import type Stripe from 'stripe';
import type { PaidInvoice, ProcessorPayment } from './processor.ts';
import { found, said } from './stripeAnswers.ts';
import { ACCOUNT_KEY, CURRENCY, fromSeconds, idOf, subscriptionIn, uuidIn } from './stripeShapes.ts';

interface Reading {
  stripe: Stripe;
  /** Reads a payment. */
  readIntent: (intentId: string) => Promise<ProcessorPayment | null>;
  /** The ids of all prices of our plans. */
  ourPrices: ReadonlySet<string>;
}

/** An invoice that was paid, and what has become of the money since. */
export async function readPaidInvoice(
  invoiceId: string,
  { stripe, readIntent, ourPrices }: Reading,
): Promise<PaidInvoice | null> {
  const invoice = await found(stripe.invoices.retrieve(invoiceId));
  const customerId = idOf(invoice?.customer);
  const subscriptionId = subscriptionIn(invoice);
  if (invoice === null || customerId === null || invoice.status !== 'paid' || subscriptionId === null) return null;
  let takenCents = 0;
  const hasCreditNotes = invoice.post_payment_credit_notes_amount > 0;
  let reversedCents = hasCreditNotes ? await creditedElsewhere(stripe, invoiceId) : 0;
  // One as a rule; where it was paid in parts, all of them. What was paid outside of Stripe has no payment there.
  const { data } = await said(stripe.invoicePayments.list({ invoice: invoiceId, status: 'paid', limit: 100 }));
  for (const { payment, amount_paid: partCents } of data) {
    const intentId = idOf(payment.payment_intent);
    if (intentId === null) continue;
    takenCents += partCents ?? 0;
    reversedCents += (await readIntent(intentId))?.reversedCents ?? 0;
  }
  const paidCents = Math.min(invoice.amount_paid, takenCents);
  return {
    customerId,
    subscriptionId,
    accountUuid: uuidIn(invoice.parent?.subscription_details?.metadata ?? null, ACCOUNT_KEY),
    isInOurCurrency: invoice.currency === CURRENCY,
    isForPlan: invoice.lines.data.some(({ pricing }) => ourPrices.has(idOf(pricing?.price_details?.price) ?? '')),
    paidAt: fromSeconds(invoice.status_transitions.paid_at ?? invoice.created),
    paidCents,
    netCents: netOf(paidCents, invoice),
    reversedCents: Math.min(paidCents, reversedCents),
  };
}

/** What was given back outside of Stripe, and written down there as a credit note. */
export async function creditedElsewhere(stripe: Stripe, invoice: string): Promise<number> {
  const { data } = await said(stripe.creditNotes.list({ invoice, limit: 100 }));
  const issued = data.filter(({ status }) => status === 'issued');
  return issued.reduce((sum, { out_of_band_amount: cents }) => sum + (cents ?? 0), 0);
}

/** What was paid without its tax, rounded down: in proportion, where not all of the total was paid by Stripe. */
function netOf(paidCents: number, { total, total_excluding_tax: net, total_taxes: taxes }: Stripe.Invoice): number {
  if (total <= 0) return 0;
  const withoutTax = net ?? total - (taxes ?? []).reduce((sum, { amount }) => sum + amount, 0);
  return Number((BigInt(paidCents) * BigInt(Math.min(total, Math.max(0, withoutTax)))) / BigInt(total));
}
