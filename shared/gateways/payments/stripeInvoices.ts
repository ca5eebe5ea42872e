import type Stripe from 'stripe';
import type { PaidInvoice, PaymentProcessor } from './paymentProcessor.ts';
import { readPaymentIntent } from './stripePayments.ts';
import { getTotalWithoutTax, toProcessorInvoice } from './stripeInvoiceAmounts.ts';
import { findOrNull, unwrap } from './stripeResponses.ts';
import { fromUnixSeconds } from './stripeTime.ts';
import {
  ACCOUNT_KEY,
  CURRENCY,
  getStripeId,
  getSubscriptionId,
  getMetadataUuid,
  type PlanPrices,
} from './stripeMappers.ts';

type InvoiceMethods = Pick<
  PaymentProcessor,
  'findInvoiceSubscription' | 'findCreditedInvoice' | 'readInvoice' | 'readInvoiceDocument'
>;

/** Builds the methods for invoices and credit notes. */
export function buildInvoiceMethods({ stripe, prices }: { stripe: Stripe; prices: PlanPrices }): InvoiceMethods {
  const planPriceIds = new Set(Object.values(prices).flat());
  return {
    findInvoiceSubscription: async (invoiceId) =>
      getSubscriptionId(await findOrNull(stripe.invoices.retrieve(invoiceId))),

    findCreditedInvoice: async (creditNoteId) =>
      getStripeId((await findOrNull(stripe.creditNotes.retrieve(creditNoteId)))?.invoice),

    readInvoice: (invoiceId) => readPaidInvoice(stripe, invoiceId, planPriceIds),

    readInvoiceDocument: async (invoiceId) => {
      const invoice = await findOrNull(stripe.invoices.retrieve(invoiceId));
      return invoice === null ? null : toProcessorInvoice(invoice);
    },
  };
}

/** Reads a paid invoice with its refunds and disputes. */
async function readPaidInvoice(
  stripe: Stripe,
  invoiceId: string,
  planPriceIds: ReadonlySet<string>,
): Promise<PaidInvoice | null> {
  const invoice = await findOrNull(stripe.invoices.retrieve(invoiceId));
  const customerId = getStripeId(invoice?.customer);
  const subscriptionId = getSubscriptionId(invoice);
  if (invoice === null || customerId === null || invoice.status !== 'paid' || subscriptionId === null) return null;
  let capturedCents = 0;
  const hasCreditNotes = invoice.post_payment_credit_notes_amount > 0;
  let reversedCents = hasCreditNotes ? sumCents(await listOutOfBandCredits(stripe, invoiceId)) : 0;
  // Usually one; several if it was paid in parts. A payment outside of Stripe is not listed.
  const { data } = await unwrap(stripe.invoicePayments.list({ invoice: invoiceId, status: 'paid', limit: 100 }));
  for (const { payment, amount_paid: partCents } of data) {
    const intentId = getStripeId(payment.payment_intent);
    if (intentId === null) continue;
    capturedCents += partCents ?? 0;
    reversedCents += (await readPaymentIntent(stripe, intentId))?.reversedCents ?? 0;
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

/** An amount that was returned to a customer. The amount of a dispute is withdrawn when it is opened. */
export interface Return {
  cents: number;
  at: Date;
}

export function sumCents(returns: Return[]): number {
  return returns.reduce((sum, { cents }) => sum + cents, 0);
}

/** Lists the amounts that were refunded outside of Stripe and recorded as credit notes. */
export async function listOutOfBandCredits(stripe: Stripe, invoice: string): Promise<Return[]> {
  const { data } = await unwrap(stripe.creditNotes.list({ invoice, limit: 100 }));
  const issued = data.filter(({ status }) => status === 'issued');
  return issued.map(({ out_of_band_amount: cents, created }) => ({ cents: cents ?? 0, at: fromUnixSeconds(created) }));
}

/** Returns the paid amount without tax, rounded down, in proportion if only a part was paid through Stripe. */
function computeNetCents(paidCents: number, invoice: Stripe.Invoice): number {
  const { total } = invoice;
  if (total <= 0) return 0;
  const withoutTax = getTotalWithoutTax(invoice);
  return Number((BigInt(paidCents) * BigInt(Math.min(total, Math.max(0, withoutTax)))) / BigInt(total));
}
