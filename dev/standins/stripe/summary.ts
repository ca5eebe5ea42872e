import type Stripe from 'stripe';
import { PLAN_SLUGS, type PlanSlug } from '../../../shared/spec/plans.ts';
import { type Books, idIn } from './books.ts';
import { isOver, itemOf } from './subscriptions.ts';

export interface CustomerSummary {
  customerId: string;
  /** As the metadata has it. */
  accountUuid: string | null;
  email: string | null;
  /** The newest one that is not over. */
  subscription: SubscriptionSummary | null;
}

export interface SubscriptionSummary {
  id: string;
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
  /** Refunds are not taken off. */
  paidCents: number;
  refundedCents: number;
  /** What is disputed and was not won back. */
  disputedCents: number;
  /** How many payments succeeded; more than one is a double charge. */
  succeeded: number;
  failed: number;
}

export interface Summary {
  customers: CustomerSummary[];
  /** By `topup_uuid`. */
  topups: Map<string, TopupSummary>;
  charges: { succeeded: number; failed: number; succeededCents: number; refundedCents: number };
  /** The `topup_uuid`s that more than one payment succeeded for. */
  chargedTwice: string[];
  /** The accounts (where unknown, the customers) with more than one subscription that is not over. */
  subscribedTwice: string[];
  /** What was transferred, by `payout_uuid`. */
  transfers: Map<string, { accountId: string; amountCents: number }>;
  /** The payouts that more than one transfer was made for. */
  paidTwice: string[];
  /** The accounts with more than one customer that anything was sold to: one that nobody came to know of is of no account. */
  customersTwice: string[];
}

/** What the stand-in thinks is true. @param prices the ids of the plans' prices. */
export function summaryOf(books: Books, prices: Record<PlanSlug, string>): Summary {
  const planOf = (price: string | undefined) => PLAN_SLUGS.find((slug) => prices[slug] === price) ?? null;
  const alive = books.list('subscription').filter((subscription) => !isOver(subscription));
  const customers = books.list('customer').map(({ id, email, metadata }): CustomerSummary => {
    const subscription = alive.find((candidate) => idIn(candidate.customer) === id);
    return {
      customerId: id,
      accountUuid: metadata['account_uuid'] ?? null,
      email,
      subscription: subscription === undefined ? null : subscriptionSummary(books, subscription, planOf),
    };
  });
  const accountOf = (customerId: string) =>
    customers.find((customer) => customer.customerId === customerId)?.accountUuid ?? customerId;
  const topups = topupsOf(books);
  const bought = [...books.list('subscription'), ...books.list('payment_intent')];
  const buyers = new Set(bought.map(({ customer }) => idIn(customer)));
  const charges = books.list('charge');
  const transfers = books.list('transfer').map((transfer) => ({
    payoutUuid: transfer.metadata['payout_uuid'] ?? transfer.id,
    accountId: idIn(transfer.destination),
    amountCents: transfer.amount - transfer.amount_reversed,
  }));
  const succeeded = charges.filter(({ status }) => status === 'succeeded');
  return {
    customers,
    topups,
    charges: {
      succeeded: succeeded.length,
      failed: charges.filter(({ status }) => status === 'failed').length,
      succeededCents: sum(succeeded.map(({ amount }) => amount)),
      refundedCents: sum(succeeded.map(({ amount_refunded }) => amount_refunded)),
    },
    transfers: new Map(transfers.map(({ payoutUuid, ...transfer }) => [payoutUuid, transfer])),
    paidTwice: repeated(transfers.map(({ payoutUuid }) => payoutUuid)),
    chargedTwice: [...topups].filter(([, topup]) => topup.succeeded > 1).map(([uuid]) => uuid),
    subscribedTwice: repeated(alive.map(({ customer }) => accountOf(idIn(customer)))),
    customersTwice: repeated(
      customers
        .filter(({ customerId }) => buyers.has(customerId))
        .map(({ accountUuid }) => accountUuid)
        .filter((uuid) => uuid !== null),
    ),
  };
}

function subscriptionSummary(
  books: Books,
  subscription: Stripe.Subscription,
  planOf: (price: string | undefined) => PlanSlug | null,
): SubscriptionSummary {
  const { price, current_period_end } = itemOf(subscription);
  return {
    id: subscription.id,
    plan: planOf(price.id),
    nextPlan: planOf(books.pricesFromRenewal.get(subscription.id)),
    status: subscription.status,
    startedAt: new Date(1_000 * subscription.start_date),
    currentPeriodEnd: new Date(1_000 * current_period_end),
    cancelAtPeriodEnd: subscription.cancel_at !== null,
  };
}

function topupsOf(books: Books): Map<string, TopupSummary> {
  const topups = new Map<string, TopupSummary>();
  for (const intent of books.list('payment_intent')) {
    const uuid = intent.metadata['topup_uuid'];
    if (uuid === undefined) continue;
    const known = topups.get(uuid) ?? { paidCents: 0, refundedCents: 0, disputedCents: 0, succeeded: 0, failed: 0 };
    const charge = books.find('charge', idIn(intent.latest_charge));
    const disputes = books.list('dispute').filter((dispute) => idIn(dispute.charge) === charge?.id);
    const lost = disputes.filter(({ status }) => status !== 'won' && !status.startsWith('warning_'));
    topups.set(uuid, {
      customerId: idIn(intent.customer),
      paidCents: known.paidCents + intent.amount_received,
      refundedCents: known.refundedCents + (charge?.amount_refunded ?? 0),
      disputedCents: known.disputedCents + sum(lost.map(({ amount }) => amount)),
      succeeded: known.succeeded + (intent.status === 'succeeded' ? 1 : 0),
      failed: known.failed + (intent.last_payment_error === null ? 0 : 1),
    });
  }
  return topups;
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

function repeated(names: string[]): string[] {
  return [...new Set(names.filter((name, index) => names.indexOf(name) !== index))];
}
