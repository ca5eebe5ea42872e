import type Stripe from 'stripe';
import type { PlanSlug } from '../../../shared/spec/plans.ts';
import { type StripeStore, getId } from './store.ts';

/** A paid invoice of a subscription, with what went back to the customer. */
export interface PlanPayment {
  invoiceId: string;
  subscriptionId: string;
  /** The plan of its last line; null if its price belongs to none. */
  plan: PlanSlug | null;
  paidUntil: Date;
  totalCents: number;
  paidCents: number;
  /** Refunds, credits outside of Stripe, and disputes that were lost or prevented. */
  returnedCents: number;
  /** The same, and what open disputes have withdrawn. Inquiries withdraw nothing. */
  withdrawnCents: number;
}

/** Summarizes the paid invoices of all subscriptions, newest first. */
export function summarizePlanPayments(
  store: StripeStore,
  findPlan: (price: string | undefined) => PlanSlug | null,
): PlanPayment[] {
  const disputes = store.list('dispute');
  return store.list('invoice').flatMap((invoice): PlanPayment[] => {
    const subscriptionId = getId(invoice.parent?.subscription_details?.subscription);
    if (invoice.status !== 'paid' || subscriptionId === '') return [];
    const lines = invoice.lines.data;
    const charges = listCharges(store, invoice);
    const disputed = disputes.filter((dispute) => charges.some(({ id }) => id === getId(dispute.charge)));
    const sumDisputes = (statuses: Stripe.Dispute.Status[]) =>
      sum(disputed.filter(({ status }) => statuses.includes(status)).map(({ amount }) => amount));
    const refundedCents = sum(charges.map(({ amount_refunded: cents }) => cents));
    const returnedCents =
      Math.max(refundedCents, sumDisputes(['prevented'])) + sumDisputes(['lost']) + sumCredits(store, invoice);
    return [
      {
        invoiceId: invoice.id,
        subscriptionId,
        plan: findPlan(getId(lines.at(-1)?.pricing?.price_details?.price)),
        paidUntil: new Date(1_000 * Math.max(0, ...lines.map(({ period }) => period.end))),
        totalCents: invoice.total,
        paidCents: invoice.amount_paid,
        returnedCents,
        withdrawnCents: returnedCents + sumDisputes(['needs_response', 'under_review']),
      },
    ];
  });
}

/** Lists the successful charges of an invoice. */
function listCharges(store: StripeStore, { id }: Stripe.Invoice): Stripe.Charge[] {
  return store
    .list('invoice_payment')
    .filter(({ invoice, status }) => getId(invoice) === id && status === 'paid')
    .map(({ payment }) => store.find('payment_intent', getId(payment.payment_intent)))
    .map((intent) => store.find('charge', getId(intent?.latest_charge)))
    .filter((charge) => charge !== undefined)
    .filter(({ status }) => status === 'succeeded');
}

/** Returns what was refunded outside of Stripe. */
function sumCredits(store: StripeStore, { id }: Stripe.Invoice): number {
  const notes = store.list('credit_note').filter(({ invoice, status }) => getId(invoice) === id && status === 'issued');
  return sum(notes.map(({ out_of_band_amount: cents }) => cents ?? 0));
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
