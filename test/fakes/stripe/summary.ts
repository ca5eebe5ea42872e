import type Stripe from 'stripe';
import type { PlanSlug } from '../../../shared/spec/plans.ts';
import { type StripeStore, getId } from './store.ts';
import { isEnded, getItem } from './subscriptions.ts';
import { summarizePlanPayments, type PlanPayment } from './planPayments.ts';

export interface CustomerSummary {
  customerId: string;
  /** The account's uuid from the metadata. */
  accountUuid: string | null;
  email: string | null;
  /** The newest subscription that has not ended. */
  subscription: SubscriptionSummary | null;
}

export interface SubscriptionSummary {
  id: string;
  /** The paid plan, also while a change to another one is not paid. */
  plan: PlanSlug | null;
  /** The plan from the renewal on, if another one is scheduled. */
  nextPlan: PlanSlug | null;
  status: string;
  startedAt: Date;
  currentPeriodEnd: Date;
  cancelAtPeriodEnd: boolean;
}

export interface TopupSummary {
  customerId: string;
  /** Paid amount before refunds. */
  paidCents: number;
  /** The part of it that is tax. */
  taxCents: number;
  /** Invoices that are not void. */
  invoices: { id: string; totalCents: number; status: string }[];
  refundedCents: number;
  /** Disputed amount that was not won back. */
  disputedCents: number;
  /** Number of successful payments; more than one is a double charge. */
  succeeded: number;
  failed: number;
}

export interface StripeSummary {
  /** Time of the summary, on the fake's clock. */
  at: Date;
  customers: CustomerSummary[];
  /** Top-ups by `topup_uuid`. */
  topups: Map<string, TopupSummary>;
  /** Paid invoices of subscriptions. */
  planPayments: PlanPayment[];
  charges: { succeeded: number; failed: number; succeededCents: number; refundedCents: number };
  /** The `topup_uuid`s with more than one successful payment. */
  doubleChargedTopups: string[];
  /** The accounts (where unknown, the customers) with more than one subscription that has not ended. */
  doubleSubscribedAccounts: string[];
  /** Transfers by their ids. */
  transfers: Map<string, { accountId: string; amountCents: number }>;
  /** The payouts with more than one transfer. */
  doublePaidPayouts: string[];
  /** The accounts with more than one customer that bought something. A customer without purchases does not count. */
  duplicateCustomers: string[];
}

/** Summarizes all customers, top-ups and transfers. @param prices price ids by plan. */
export function summarizeStore(store: StripeStore, prices: Record<PlanSlug, string>): StripeSummary {
  const findPlan = (price: string | undefined) => Object.keys(prices).find((slug) => prices[slug] === price) ?? null;
  const alive = store.list('subscription').filter((subscription) => !isEnded(subscription));
  const customers = store.list('customer').map(({ id, email, metadata }): CustomerSummary => {
    const subscription = alive.find((candidate) => getId(candidate.customer) === id);
    return {
      customerId: id,
      accountUuid: metadata['account_uuid'] ?? null,
      email,
      subscription: subscription === undefined ? null : summarizeSubscription(store, subscription, findPlan),
    };
  });
  const findAccount = (customerId: string) =>
    customers.find((customer) => customer.customerId === customerId)?.accountUuid ?? customerId;
  const topups = summarizeTopups(store);
  const bought = [...store.list('subscription'), ...store.list('payment_intent')];
  const buyers = new Set(bought.map(({ customer }) => getId(customer)));
  const charges = store.list('charge');
  const transfers = store.list('transfer').filter(({ reversed }) => !reversed);
  const succeeded = charges.filter(({ status }) => status === 'succeeded');
  return {
    at: new Date(1_000 * store.now()),
    customers,
    topups,
    planPayments: summarizePlanPayments(store, findPlan),
    charges: {
      succeeded: succeeded.length,
      failed: charges.filter(({ status }) => status === 'failed').length,
      succeededCents: sum(succeeded.map(({ amount }) => amount)),
      refundedCents: sum(succeeded.map(({ amount_refunded }) => amount_refunded)),
    },
    transfers: new Map(
      transfers.map(({ id, destination, amount, amount_reversed: reversed }) => [
        id,
        { accountId: getId(destination), amountCents: amount - reversed },
      ]),
    ),
    doublePaidPayouts: findDuplicates(transfers.map(({ id, metadata }) => metadata['payout_uuid'] ?? id)),
    doubleChargedTopups: [...topups].filter(([, topup]) => topup.succeeded > 1).map(([uuid]) => uuid),
    doubleSubscribedAccounts: findDuplicates(alive.map(({ customer }) => findAccount(getId(customer)))),
    duplicateCustomers: findDuplicates(
      customers
        .filter(({ customerId }) => buyers.has(customerId))
        .map(({ accountUuid }) => accountUuid)
        .filter((uuid) => uuid !== null),
    ),
  };
}

function summarizeSubscription(
  store: StripeStore,
  subscription: Stripe.Subscription,
  findPlan: (price: string | undefined) => PlanSlug | null,
): SubscriptionSummary {
  const { price, current_period_end } = getItem(subscription);
  return {
    id: subscription.id,
    plan: findPlan(store.paidPrices.get(subscription.id) ?? price.id),
    nextPlan: findPlan(store.scheduledPrices.get(subscription.id)),
    status: subscription.status,
    startedAt: new Date(1_000 * subscription.start_date),
    currentPeriodEnd: new Date(1_000 * current_period_end),
    cancelAtPeriodEnd: subscription.cancel_at !== null,
  };
}

function summarizeTopups(store: StripeStore): Map<string, TopupSummary> {
  const topups = new Map<string, TopupSummary>();
  for (const intent of store.list('payment_intent')) {
    const uuid = intent.metadata['topup_uuid'];
    if (uuid === undefined) continue;
    const known = topups.get(uuid) ?? {
      paidCents: 0,
      taxCents: 0,
      invoices: [],
      refundedCents: 0,
      disputedCents: 0,
      succeeded: 0,
      failed: 0,
    };
    const charge = store.find('charge', getId(intent.latest_charge));
    const disputes = store.list('dispute').filter((dispute) => getId(dispute.charge) === charge?.id);
    const lost = disputes.filter(({ status }) => status !== 'won' && !status.startsWith('warning_'));
    topups.set(uuid, {
      customerId: getId(intent.customer),
      paidCents: known.paidCents + intent.amount_received,
      taxCents: known.taxCents + findTaxCents(store, intent),
      invoices: findInvoices(store, uuid),
      refundedCents: known.refundedCents + (charge?.amount_refunded ?? 0),
      disputedCents: known.disputedCents + sum(lost.map(({ amount }) => amount)),
      succeeded: known.succeeded + (intent.status === 'succeeded' ? 1 : 0),
      failed: known.failed + (intent.last_payment_error === null ? 0 : 1),
    });
  }
  return topups;
}

/** Returns the tax of the page of a payment, or of its invoice. */
function findTaxCents(store: StripeStore, intent: Stripe.PaymentIntent): number {
  if (intent.status !== 'succeeded') return 0;
  const session = store.list('checkout.session').find(({ payment_intent: paid }) => getId(paid) === intent.id);
  if (session !== undefined) return session.total_details?.amount_tax ?? 0;
  const invoice = store
    .list('invoice')
    .find(({ metadata }) => metadata?.['topup_uuid'] === intent.metadata['topup_uuid']);
  return invoice === undefined ? 0 : invoice.total - (invoice.total_excluding_tax ?? invoice.total);
}

function findInvoices(store: StripeStore, topupUuid: string): TopupSummary['invoices'] {
  return store
    .list('invoice')
    .filter(({ metadata, status }) => metadata?.['topup_uuid'] === topupUuid && status !== 'void')
    .map(({ id, total: totalCents, status }) => ({ id, totalCents, status: status ?? '' }));
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function findDuplicates(names: string[]): string[] {
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
}
