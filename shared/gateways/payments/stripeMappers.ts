import type Stripe from 'stripe';
import { addMilliseconds } from '../../lib/clock.ts';
import { UUID_PATTERN } from '../../lib/uuid.ts';
import { MINUTE_MS } from '../../spec/durations.ts';
import type { PlanSlug } from '../../spec/plans.ts';
import type { SubscriptionStatus } from '../../spec/states.ts';
import type {
  InvoiceReversals,
  PaymentFailureCode,
  ProcessorInvoice,
  ProcessorOwner,
  ProcessorPayment,
  ProcessorSubscription,
  SubscriptionInvoice,
  TopupOrder,
} from './paymentProcessor.ts';

/** Maps Stripe's objects to those of `paymentProcessor.ts`. */

/** The one currency of plans, top-ups and payouts. */
export const CURRENCY = 'usd';
/** Tax is added to the price of a top-up, so that the order is the net amount and buys the credits that it names. */
export const TOPUP_TAX_BEHAVIOR = 'exclusive';

/** Metadata keys that link Stripe's objects to rows of this service. */
export const ACCOUNT_KEY = 'account_uuid';
const TOPUP_KEY = 'topup_uuid';
export const PAYOUT_KEY = 'payout_uuid';

/** Returns the idempotency key of a customer or a connected account: one per account and per deleted one. */
export function buildOwnerKey(prefix: string, { accountUuid, replaces }: ProcessorOwner): string {
  return [prefix, accountUuid, replaces].filter((part) => part !== undefined).join('-');
}

/** Marks a subscription whose renewal this service has stopped for a time. */
const HOLD_KEY = 'renewal_held';
/** The price that was scheduled for a renewal that is held. */
export const HELD_PRICE_KEY = 'renewal_price';
/** A price that was set before it is charged for the first time, and when that is, in Unix seconds. */
export const PRICE_FROM_KEY = 'price_from';

/** Changes of a subscription's metadata that mark its renewal as held, or no longer. */
export const HOLD_METADATA = { [HOLD_KEY]: 'dispute' };
export const NO_HOLD_METADATA = { [HOLD_KEY]: '', [HELD_PRICE_KEY]: '' };

/** Maps Stripe's subscription statuses. */
const SUBSCRIPTION_STATUS_MAP: Record<string, SubscriptionStatus> = {
  trialing: 'active',
  active: 'active',
  past_due: 'past_due',
  unpaid: 'unpaid',
  paused: 'unpaid',
  incomplete: 'incomplete',
  incomplete_expired: 'canceled',
  canceled: 'canceled',
};

/** The price ids of each plan: first the one that is sold, then those that were sold before. */
export type PlanPrices = Record<PlanSlug, string[]>;

export function toProcessorSubscription(
  subscription: Stripe.Subscription,
  prices: PlanPrices,
  listedInvoices: Stripe.Invoice[],
): ProcessorSubscription {
  const item = subscription.items.data[0];
  const last = getLatestInvoice(subscription);
  // The latest one may be listed later than the subscription names it.
  const isListed = last === null || listedInvoices.some(({ id }) => id === last.id);
  const all = isListed ? listedInvoices : [last, ...listedInvoices];
  const invoices = all
    .filter(({ status }) => status === 'paid')
    .map((invoice) => toSubscriptionInvoice(invoice, prices, item?.price.id));
  const annualPeriodEnds = invoices
    .filter(({ isAnnual: isYear }) => isYear)
    .map(({ paidUntil }) => paidUntil.getTime());
  return {
    id: subscription.id,
    customerId: getStripeId(subscription.customer) as string,
    accountUuid: getMetadataUuid(subscription.metadata, ACCOUNT_KEY),
    plan: findPlanByPrice(item?.price.id, prices),
    priceId: item?.price.id ?? null,
    priceFrom: findPriceStart(subscription, item?.price.id),
    status: SUBSCRIPTION_STATUS_MAP[subscription.status] ?? 'incomplete',
    startedAt: fromUnixSeconds(subscription.start_date),
    currentPeriodEnd: fromUnixSeconds(item?.current_period_end ?? subscription.start_date),
    cancelAtPeriodEnd: subscription.cancel_at_period_end || subscription.cancel_at !== null,
    isRenewalHeld: subscription.metadata[HOLD_KEY] !== undefined,
    endedAt: subscription.ended_at === null ? null : fromUnixSeconds(subscription.ended_at),
    isLatestInvoicePaid: last?.status === 'paid',
    paidUntil: annualPeriodEnds.length === 0 ? null : new Date(Math.max(...annualPeriodEnds)),
    invoices,
    documents: all.map(toProcessorInvoice).filter((document) => document !== null),
  };
}

/** Another price may have been set in the meantime, which applies at once. */
function findPriceStart({ metadata, start_date: start }: Stripe.Subscription, currentPrice: string | undefined): Date {
  const [price, from] = metadata[PRICE_FROM_KEY]?.split(' ') ?? [];
  return fromUnixSeconds(price === currentPrice ? Number(from ?? start) : start);
}

/** @param currentPrice the price of the subscription, which a year with an unknown price counts as. */
function toSubscriptionInvoice(
  invoice: Stripe.Invoice,
  prices: PlanPrices,
  currentPrice: string | undefined,
): SubscriptionInvoice {
  const { lines, total, amount_paid: paidCents, created, status_transitions: transitions } = invoice;
  // A plan change has a negative line for the unused time of the previous plan.
  const charged = lines.data.filter(({ amount }) => amount >= 0 || total < 0);
  const isAnnual = isAnnualInvoice(invoice);
  const priceIds = charged.map(({ pricing }) => getStripeId(pricing?.price_details?.price));
  const known = priceIds.findLast((id) => findPlanByPrice(id, prices) !== null);
  const priceId = known ?? (isAnnual ? currentPrice : null) ?? null;
  return {
    id: invoice.id,
    isAnnual,
    plan: findPlanByPrice(priceId, prices),
    priceId,
    paidAt: fromUnixSeconds(transitions.paid_at ?? created),
    periodStart: getPeriodStart(invoice),
    paidUntil: getPeriodEnd(invoice),
    paidCents,
    hasCreditNotes: hasCreditNotes(invoice),
  };
}

function findPlanByPrice(priceId: string | null | undefined, prices: PlanPrices): PlanSlug | null {
  if (priceId == null) return null;
  return Object.keys(prices).find((slug) => prices[slug]?.includes(priceId) === true) ?? null;
}

/** @param disputes the disputes of its charge. */
export function toProcessorPayment(intent: Stripe.PaymentIntent, disputes: Stripe.Dispute[] = []): ProcessorPayment {
  const taxCents = Number(intent.metadata[TAX_KEY] ?? 0);
  const charge = getLatestCharge(intent);
  const error = intent.last_payment_error;
  const isSucceeded = intent.status === 'succeeded';
  return {
    intentId: intent.id,
    topupUuid: getMetadataUuid(intent.metadata, TOPUP_KEY),
    order: parseTopupOrder(intent.metadata),
    isAutomatic: intent.metadata[KIND_KEY] === AUTOMATIC,
    // A payment that has just been made without a page does not contain its charge.
    paidAt: isSucceeded ? fromUnixSeconds((charge ?? intent).created) : null,
    isDelayed: charge !== null && charge.payment_method_details?.type !== 'card',
    status: isSucceeded ? 'succeeded' : hasFailed(intent) ? 'failed' : 'pending',
    amountCents: isSucceeded ? intent.amount_received : intent.amount,
    taxCents: Number.isSafeInteger(taxCents) && taxCents > 0 ? taxCents : 0,
    discountCents: 0,
    reversedCents: charge === null ? 0 : Math.min(intent.amount, computeReversals(charge, disputes).reversedCents),
    isDisputed: disputes.some(({ status }) => !WON_DISPUTE_STATUSES.includes(status)),
    failureCode: hasFailed(intent) ? toPaymentFailureCode(intent.status, error?.code ?? null) : null,
  };
}

/** Returns whether the status does not change any more unless the customer acts. */
function hasFailed(intent: Stripe.PaymentIntent): boolean {
  return ['requires_payment_method', 'requires_action', 'canceled'].includes(intent.status) && !isUnconfirmed(intent);
}

/** Returns whether no card was asked: Stripe failed before it, or the customer has not paid on the page yet. */
export function isUnconfirmed({ status, last_payment_error: error }: Stripe.PaymentIntent): boolean {
  return status === 'requires_confirmation' || (status === 'requires_payment_method' && error === null);
}

function toPaymentFailureCode(status: string, code: string | null): PaymentFailureCode | null {
  if (status === 'canceled') return 'canceled';
  if (status === 'requires_action' || code === 'authentication_required') return 'authentication_required';
  return status === 'requires_payment_method' ? 'declined' : null;
}

/** Returns the id of an object that may be expanded. */
export function getStripeId(value: string | { id: string } | null | undefined): string | null {
  return typeof value === 'string' ? value : (value?.id ?? null);
}

const UUID = new RegExp(`^${UUID_PATTERN}$`);

export function getMetadataUuid(metadata: Record<string, string> | null, key: string): string | null {
  const value = metadata?.[key];
  return value !== undefined && UUID.test(value) ? value : null;
}

/** Returns the top-up that the metadata of an object names. */
export function getTopupUuid(metadata: Record<string, string> | null): string | null {
  return getMetadataUuid(metadata, TOPUP_KEY);
}

const AMOUNT_KEY = 'amount_cents';
const CREDITS_KEY = 'credits';
/** The tax in the amount of a payment without a page. */
const TAX_KEY = 'tax_cents';
/** Marks a payment whose tax and discounts are those of its page. */
const PAGE_AMOUNTS_KEY = 'amounts';
const PAGE_AMOUNTS = 'on_page';

/** Marks the payment of an automatic top-up. */
const KIND_KEY = 'kind';
const AUTOMATIC = 'automatic';
export const AUTOMATIC_METADATA = { [KIND_KEY]: AUTOMATIC };

/** Additions to the metadata of a payment whose amount is not that of its order. */
export const buildTaxMetadata = (taxCents: number) => ({ [TAX_KEY]: String(taxCents) });
export const PAGE_AMOUNTS_METADATA = { [PAGE_AMOUNTS_KEY]: PAGE_AMOUNTS };

/** Returns whether tax and discounts of a payment have to be read from its page. */
export function hasPageAmounts({ metadata }: Stripe.PaymentIntent): boolean {
  return metadata[PAGE_AMOUNTS_KEY] === PAGE_AMOUNTS;
}

/** Returns the metadata of a top-up's payment. */
export function buildTopupMetadata(order: TopupOrder): Record<string, string> {
  return {
    [TOPUP_KEY]: order.topupUuid,
    [ACCOUNT_KEY]: order.accountUuid,
    [AMOUNT_KEY]: String(order.amountCents),
    [CREDITS_KEY]: String(order.credits),
  };
}

export function parseTopupOrder(metadata: Record<string, string>): TopupOrder | null {
  const topupUuid = getMetadataUuid(metadata, TOPUP_KEY);
  const accountUuid = getMetadataUuid(metadata, ACCOUNT_KEY);
  const [amountCents, credits] = [AMOUNT_KEY, CREDITS_KEY].map((key) => Number(metadata[key])) as [number, number];
  const isComplete = Number.isSafeInteger(amountCents) && Number.isSafeInteger(credits);
  return topupUuid === null || accountUuid === null || !isComplete
    ? null
    : { topupUuid, accountUuid, amountCents, credits };
}

/** Maximum difference between Stripe's clock and ours. */
const CLOCK_SKEW_MS = 10 * MINUTE_MS;

/** Returns the start of a search in Stripe's lists for an object that was created after ours. */
export function toSearchStart(createdAt: Date): number {
  return toUnixSeconds(addMilliseconds(createdAt, -CLOCK_SKEW_MS));
}

/** Converts a time of Stripe's objects. */
export function fromUnixSeconds(seconds: number): Date {
  return new Date(1_000 * seconds);
}

export function toUnixSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1_000);
}

/** Returns whether an invoice has credit notes from after the payment, which may record refunds outside of Stripe. */
export function hasCreditNotes({ post_payment_credit_notes_amount: cents }: Stripe.Invoice): boolean {
  return cents > 0;
}

/** Returns the subscription that an invoice is for. */
export function getSubscriptionId(invoice: Stripe.Invoice | null): string | null {
  return getStripeId(invoice?.parent?.subscription_details?.subscription);
}

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

/** Returns the latest invoice of a subscription, which must be expanded. */
export function getLatestInvoice({ latest_invoice: invoice }: Stripe.Subscription): Stripe.Invoice | null {
  return typeof invoice === 'object' ? invoice : null;
}

/** Returns the latest charge of a payment, which must be expanded. */
export function getLatestCharge({ latest_charge: charge }: Stripe.PaymentIntent): Stripe.Charge | null {
  return typeof charge === 'object' ? charge : null;
}

/** Returns whether an invoice bills a whole year, not a plan change. */
function isAnnualInvoice({ billing_reason: reason }: Stripe.Invoice): boolean {
  return reason === 'subscription_create' || reason === 'subscription_cycle';
}

/** Returns the start of the period that an invoice bills; the rest of an earlier one may be billed with it. */
function getPeriodStart({ lines, created }: Stripe.Invoice): Date {
  const [last] = lines.data.toSorted((a, b) => b.period.end - a.period.end || b.period.start - a.period.start);
  return fromUnixSeconds(last?.period.start ?? created);
}

/** Returns the end of the period that an invoice bills. */
function getPeriodEnd({ lines }: Stripe.Invoice): Date {
  return fromUnixSeconds(Math.max(0, ...lines.data.map(({ period }) => period.end)));
}

/** Dispute statuses that leave the amount with the merchant. A `prevented` dispute has returned it. */
const WON_DISPUTE_STATUSES: readonly string[] = ['won', 'warning_closed'];

/** Returns whether a dispute has withdrawn its amount and the bank has not decided yet. Inquiries withdraw nothing. */
export function isDisputeOpen({ status }: Stripe.Dispute): boolean {
  return status !== 'won' && status !== 'lost' && status !== 'prevented' && !status.startsWith('warning_');
}

/** Computes what was returned of a charge: the one rule for top-ups, invoices, commissions and refunds. */
export function computeReversals(
  { amount, amount_refunded: refunded }: Stripe.Charge,
  disputes: Stripe.Dispute[],
): Pick<InvoiceReversals, 'returnedCents' | 'reversedCents'> {
  // Stripe does not document whether it also lists a prevented dispute as a refund: it is counted once.
  const prevented = sumDisputes(disputes, ({ status }) => status === 'prevented');
  const lost = sumDisputes(disputes, ({ status }) => status === 'lost');
  const returnedCents = Math.min(amount, Math.max(refunded, prevented) + lost);
  return { returnedCents, reversedCents: Math.min(amount, returnedCents + sumDisputes(disputes, isDisputeOpen)) };
}

function sumDisputes(disputes: Stripe.Dispute[], isCounted: (dispute: Stripe.Dispute) => boolean): number {
  return disputes.filter(isCounted).reduce((sum, dispute) => sum + dispute.amount, 0);
}
