import type Stripe from 'stripe';
import type { ProcessorInvoice } from './processorInvoice.ts';
import { fromUnixSeconds } from './stripeTime.ts';

/** Maps an invoice to the document that the customer sees. @returns null for a draft. */
export function toProcessorInvoice(invoice: Stripe.Invoice): ProcessorInvoice | null {
  const { status, total, total_discount_amounts: discounts, status_transitions: transitions } = invoice;
  if (!isListedStatus(status)) return null;
  return {
    id: invoice.id,
    status,
    number: invoice.number,
    currency: invoice.currency,
    totalCents: total,
    taxCents: total - getTotalWithoutTax(invoice),
    discountCents: (discounts ?? []).reduce((sum, { amount }) => sum + amount, 0),
    hostedUrl: invoice.hosted_invoice_url ?? null,
    pdfUrl: invoice.invoice_pdf ?? null,
    createdAt: fromUnixSeconds(invoice.created),
    paidAt: transitions.paid_at === null ? null : fromUnixSeconds(transitions.paid_at),
  };
}

const LISTED_STATUSES: readonly string[] = [
  'open',
  'paid',
  'void',
  'uncollectible',
] satisfies ProcessorInvoice['status'][];

function isListedStatus(status: string | null): status is ProcessorInvoice['status'] {
  return status !== null && LISTED_STATUSES.includes(status);
}

/** Returns the total of an invoice after discounts and before tax. */
export function getTotalWithoutTax({ total, total_excluding_tax: net, total_taxes: taxes }: Stripe.Invoice): number {
  return net ?? total - (taxes ?? []).reduce((sum, { amount }) => sum + amount, 0);
}
