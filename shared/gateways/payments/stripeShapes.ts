import type Stripe from 'stripe';
import { PLAN_SLUGS, type PlanSlug } from '../../spec/plans.ts';
import type { SubscriptionStatus } from '../../spec/states.ts';
import type { PaymentFailure, ProcessorPayment, ProcessorSubscription, SubscriptionInvoice } from './processor.ts';

/** Stripe's objects in the terms of `processor.ts`. */

/** All money is in one currency: the plans' prices have it, top-ups are charged and payouts made in it. */
export const CURRENCY = 'usd';

/** The keys of metadata that tie Stripe's objects to ours. */
export const ACCOUNT_KEY = 'account_uuid';
export const TOPUP_KEY = 'topup_uuid';
export const PAYOUT_KEY = 'payout_uuid';

/** Stripe's statuses that are not ours. */
const STATUSES: Record<string, SubscriptionStatus> = {
  trialing: 'active',
  active: 'active',
  past_due: 'past_due',
  unpaid: 'unpaid',
  paused: 'unpaid',
  incomplete: 'incomplete',
  incomplete_expired: 'canceled',
  canceled: 'canceled',
};

/** The ids of each plan's prices: the one that is sold, and those that were sold before. */
export type PlanPrices = Record<PlanSlug, string[]>;

export function asSubscription(
  subscription: Stripe.Subscription,
  prices: PlanPrices,
  paidInvoices: Stripe.Invoice[],
): ProcessorSubscription {
  const item = subscription.items.data[0];
  const last = lastInvoiceOf(subscription);
  const isListed = last === null || last.status !== 'paid' || paidInvoices.some(({ id }) => id === last.id);
  const invoices = (isListed ? paidInvoices : [last, ...paidInvoices]).map((invoice) => asInvoice(invoice, prices));
  const years = invoices.filter(({ isYear }) => isYear).map(({ paidUntil }) => paidUntil.getTime());
  return {
    id: subscription.id,
    customerId: idOf(subscription.customer) as string,
    accountUuid: uuidIn(subscription.metadata, ACCOUNT_KEY),
    plan: planOf(item?.price.id, prices),
    status: STATUSES[subscription.status] ?? 'incomplete',
    startedAt: fromSeconds(subscription.start_date),
    currentPeriodEnd: fromSeconds(item?.current_period_end ?? subscription.start_date),
    cancelAtPeriodEnd: subscription.cancel_at_period_end || subscription.cancel_at !== null,
    endedAt: subscription.ended_at === null ? null : fromSeconds(subscription.ended_at),
    isPaid: last?.status === 'paid',
    paidUntil: years.length === 0 ? null : new Date(Math.max(...years)),
    invoices,
  };
}

function asInvoice(invoice: Stripe.Invoice, prices: PlanPrices): SubscriptionInvoice {
  const { lines, total, created, status_transitions: transitions } = invoice;
  // The change to another plan has a line below zero for the rest of the plan before.
  const charged = lines.data.filter(({ amount }) => amount >= 0 || total < 0);
  const plans = charged.map(({ pricing }) => planOf(idOf(pricing?.price_details?.price), prices));
  return {
    id: invoice.id,
    isYear: isOfYear(invoice),
    plan: plans.findLast((plan) => plan !== null) ?? null,
    paidAt: fromSeconds(transitions.paid_at ?? created),
    paidUntil: endOf(invoice),
    totalCents: total,
    hasCreditNotes: invoice.post_payment_credit_notes_amount > 0,
  };
}

function planOf(priceId: string | null | undefined, prices: PlanPrices): PlanSlug | null {
  return PLAN_SLUGS.find((slug) => priceId != null && prices[slug].includes(priceId)) ?? null;
}

/** @param disputes of its charge. */
export function asPayment(intent: Stripe.PaymentIntent, disputes: Stripe.Dispute[] = []): ProcessorPayment {
  const charge = intent.latest_charge;
  const refunded = typeof charge === 'object' && charge !== null ? refundedOf(charge, disputes) : 0;
  const error = intent.last_payment_error;
  const isSettled = intent.status === 'succeeded';
  return {
    intentId: intent.id,
    topupUuid: uuidIn(intent.metadata, TOPUP_KEY),
    status: isSettled ? 'succeeded' : FAILED.includes(intent.status) ? 'failed' : 'pending',
    amountCents: isSettled ? intent.amount_received : intent.amount,
    reversedCents: Math.min(intent.amount, refunded + lostTo(disputes)),
    isDisputed: disputes.some(({ status }) => !CLOSED_WELL.includes(status)),
    failure: isSettled ? null : failureOf(intent.status, error?.code ?? null),
  };
}

/** Without the customer there, nothing else will happen to such a payment. */
const FAILED = ['requires_payment_method', 'requires_action', 'canceled'];

function failureOf(status: string, code: string | null): PaymentFailure | null {
  if (status === 'canceled') return 'canceled';
  if (status === 'requires_action' || code === 'authentication_required') return 'authentication_required';
  return status === 'requires_payment_method' ? 'declined' : null;
}

/** The id of what may be there whole. */
export function idOf(value: string | { id: string } | null | undefined): string | null {
  return typeof value === 'string' ? value : (value?.id ?? null);
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function uuidIn(metadata: Record<string, string> | null, key: string): string | null {
  const value = metadata?.[key];
  return value !== undefined && UUID.test(value) ? value : null;
}

export function fromSeconds(seconds: number): Date {
  return new Date(1_000 * seconds);
}

export function seconds(date: Date): number {
  return Math.floor(date.getTime() / 1_000);
}

/** The subscription that an invoice is for. */
export function subscriptionIn(invoice: Stripe.Invoice | null): string | null {
  return idOf(invoice?.parent?.subscription_details?.subscription);
}

/** The last invoice of a subscription that was asked for with it. */
export function lastInvoiceOf({ latest_invoice: invoice }: Stripe.Subscription): Stripe.Invoice | null {
  return typeof invoice === 'object' ? invoice : null;
}

/** Whether an invoice is for a whole year, not for the change to another plan. */
export function isOfYear({ billing_reason: reason }: Stripe.Invoice): boolean {
  return reason === 'subscription_create' || reason === 'subscription_cycle';
}

/** The end of what an invoice asks to be paid for. */
export function endOf({ lines }: Stripe.Invoice): Date {
  return fromSeconds(Math.max(0, ...lines.data.map(({ period }) => period.end)));
}

/** Dispute statuses that leave the money with the merchant. A `prevented` dispute has returned it. */
const CLOSED_WELL: readonly string[] = ['won', 'warning_closed'];

/** Whether the money of a dispute is gone, at least for the time; `prevented` ones are counted as refunds. */
function isLoss({ status }: Stripe.Dispute): boolean {
  return status !== 'won' && status !== 'prevented' && !status.startsWith('warning_');
}

/** Whether the bank has not decided yet. */
export function isOpen(dispute: Stripe.Dispute): boolean {
  return isLoss(dispute) && dispute.status !== 'lost';
}

/** What is disputed and was not won back, in cents. */
export function lostTo(disputes: Stripe.Dispute[]): number {
  return disputes.filter(isLoss).reduce((sum, dispute) => sum + dispute.amount, 0);
}

/** What of a charge went back by refunds, and by disputes that were prevented by returning the money. */
export function refundedOf({ amount, amount_refunded: refunded }: Stripe.Charge, disputes: Stripe.Dispute[]): number {
  const prevented = disputes.filter(({ status }) => status === 'prevented');
  // Whether Stripe lists such a return as a refund as well is not documented: it is counted once.
  const returned = prevented.reduce((sum, dispute) => sum + dispute.amount, 0);
  return Math.min(amount, Math.max(refunded, returned));
}
