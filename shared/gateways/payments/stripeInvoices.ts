import type Stripe from 'stripe';
import type { PaidInvoice, ProcessorPayment } from './processor.ts';
import { found, said } from './stripeAnswers.ts';
import { ACCOUNT_KEY, fromSeconds, idOf, subscriptionIn, uuidIn } from './stripeShapes.ts';

/** An invoice that was paid, and what has become of the money since. @param readIntent reads a payment of it. */
export async function readPaidInvoice(
  stripe: Stripe,
  invoiceId: string,
  readIntent: (intentId: string) => Promise<ProcessorPayment | null>,
): Promise<PaidInvoice | null> {
  const invoice = await found(stripe.invoices.retrieve(invoiceId));
  const customerId = idOf(invoice?.customer);
  if (invoice === null || customerId === null || invoice.status !== 'paid' || subscriptionIn(invoice) === null) {
    return null;
  }
  const paidCents = invoice.amount_paid;
  let reversedCents = 0;
  // One as a rule; where it was paid in parts, all of them.
  const { data } = await said(stripe.invoicePayments.list({ invoice: invoiceId, status: 'paid', limit: 100 }));
  for (const { payment } of data) {
    const intentId = idOf(payment.payment_intent);
    if (intentId !== null) reversedCents += (await readIntent(intentId))?.reversedCents ?? 0;
  }
  return {
    customerId,
    accountUuid: uuidIn(invoice.parent?.subscription_details?.metadata ?? null, ACCOUNT_KEY),
    paidAt: fromSeconds(invoice.status_transitions.paid_at ?? invoice.created),
    paidCents,
    netCents: netOf(invoice),
    reversedCents: Math.min(paidCents, reversedCents),
  };
}

/** What was paid without its tax: in proportion, where a part of the total was set off against a balance. */
function netOf({ amount_paid: paid, total, total_excluding_tax: net, total_taxes: taxes }: Stripe.Invoice): number {
  if (total <= 0) return 0;
  const withoutTax = net ?? total - (taxes ?? []).reduce((sum, { amount }) => sum + amount, 0);
  return Number((BigInt(paid) * BigInt(Math.min(total, Math.max(0, withoutTax)))) / BigInt(total));
}
