import type { Transaction } from 'objection';
import { v7 as uuidv7 } from 'uuid';
import { type ProcessorSubscription, processor, type SubscriptionInvoice } from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import { LIVE_SUBSCRIPTION_STATUSES, type SubscriptionStatus } from '../../spec/states.ts';
import { Account } from '../../tables/Account.ts';
import { Subscription } from '../../tables/Subscription.ts';
import { PROCESSOR } from '../subscriptions.ts';
import { type AfterCommit, attempt, carryOut, type Effect, takeTicket, unresolved } from './effects.ts';
import { begin, end, goOn, renewUntil, suspend } from './lifecycle.ts';
import { oweRefunds, refundSubscription } from './owedRefunds.ts';
import { reviewYear, type YearReview } from './yearReview.ts';

/** What the processor says of a subscription, and when it was asked. */
interface Look extends YearReview {
  ticket: number;
  hasPaymentMethod: boolean;
  /** Whether the account's other subscription was just looked at, too. */
  isSecondLook: boolean;
}

const NO_PLAN = 'The price of the subscription is not in STRIPE_PRICE_*.';

interface Reason {
  isSecondLook?: boolean;
}

/**
 * Looks at a subscription, and says what it means to the account that it belongs to. The whole state is taken over each
 * time, whatever it was that made us look: so the order of events, and how often they come, do not matter.
 * @returns null where it is none of ours.
 */
export async function subscriptionEffect(subscriptionId: string, reason: Reason = {}): Promise<Effect | null> {
  const ticket = await takeTicket();
  const known = await Subscription.query().findOne({ stripe_subscription_id: subscriptionId });
  const found = await processor.readSubscription(subscriptionId);
  if (found === null) return known === undefined || processor.isSimulated ? null : missingEffect(known, ticket);
  // A customer who was deleted there has another id by now: what is known already keeps its account.
  const account = known === undefined ? await ownerOf(found) : await Account.query().findById(known.account_id);
  if (account === undefined) return null;
  if (found.plan === null) {
    logger.error({ subscriptionId, accountId: account.id }, 'a subscription on a price of none of our plans');
    if (known === undefined) return unresolved(account.id, NO_PLAN);
  }
  const review = await reviewYear(found);
  const look: Look = {
    ...review,
    ticket,
    hasPaymentMethod: (await processor.paymentMethodOf(found.customerId)) !== null,
    isSecondLook: reason.isSecondLook === true,
  };
  const problem = review.snapshot.plan === null ? NO_PLAN : undefined;
  return { accountId: account.id, problem, apply: (transaction, locked) => takeOver(transaction, locked, look) };
}

/** Finds the account of a customer, or the one that a subscription was started for. */
export async function ownerOf({
  customerId,
  accountUuid,
}: Pick<ProcessorSubscription, 'customerId' | 'accountUuid'>): Promise<Account | undefined> {
  const customer = await Account.query().findOne({ stripe_customer_id: customerId });
  if (customer !== undefined || accountUuid === null) return customer;
  return Account.query().findOne({ uuid: accountUuid });
}

/** A secret key of another account, or test data that was deleted, must not end anything at once. */
const MISSING_MS = 3 * 86_400_000;

/** Ends a subscription that the processor does not know any more, some days after the end of its period. */
function missingEffect({ id, account_id: accountId, stripe_subscription_id }: Subscription, ticket: number): Effect {
  logger.error({ subscriptionId: stripe_subscription_id, accountId }, 'subscription not found at the processor');
  return {
    accountId,
    apply: async (transaction, account) => {
      const current = await Subscription.query(transaction).findById(id).throwIfNotFound();
      if (current.sync_ticket >= ticket) return undefined;
      const seen = { sync_ticket: ticket, synced_at: now(), follow_up_due_at: null };
      const isOver = current.current_period_end <= addMilliseconds(now(), -MISSING_MS);
      if (current.status === 'canceled' || !isOver) {
        await current.$query(transaction).patch(seen);
        return undefined;
      }
      const renewed = await renewUntil(transaction, account, current, now());
      const ended = await current.$query(transaction).patchAndFetch({ ...seen, status: 'canceled' });
      await end(transaction, renewed, ended);
      return undefined;
    },
  };
}

async function takeOver(transaction: Transaction, account: Account, look: Look): Promise<AfterCommit | undefined> {
  const { snapshot, ticket } = look;
  const known = await Subscription.query(transaction).findOne({ stripe_subscription_id: snapshot.id });
  if (known !== undefined && known.sync_ticket >= ticket) return undefined;
  const before = known ?? (await record(transaction, account, snapshot));
  const customer = await takeOverCustomer(transaction, account, look);
  const after = changes(before, look);
  // Patching changes the row's object, too: what it was is kept.
  const hasBegun = before.begun_at !== null && before.status !== 'canceled';
  const wasLive = isLive(before.status);
  const isSuperseded = hasBegun && account.subscription_id !== before.id;
  const isTurnedDown = before.follow_up === 'refund';
  if (after.status === 'canceled') return takeOverEnd(transaction, customer, before, { ...after, ...DONE }, snapshot);
  if (!isLive(after.status)) {
    // Another one has taken its place: it is not to be collected any more.
    const followUp = isTurnedDown ? 'refund' : isSuperseded && after.status === 'unpaid' ? 'cancel' : null;
    const subscription = await before.$query(transaction).patchAndFetch({ ...after, ...due(before, followUp) });
    if (wasLive) await suspend(transaction, customer, subscription);
    return followUp === null ? undefined : () => followUpOn(subscription);
  }
  const other = await othersOf(transaction, before).modify('live').first();
  if (isTurnedDown || isSuperseded || (other !== undefined && other.stripe_subscription_id !== null)) {
    // What we know of the other one may be out of date: it is looked at before this one is turned down.
    const isCertain = isTurnedDown || look.isSecondLook || other === undefined || other.stripe_subscription_id === null;
    const seen = { sync_ticket: ticket, synced_at: now(), ...due(before, isCertain ? 'refund' : 'resolve') };
    const subscription = await before.$query(transaction).patchAndFetch(seen);
    return () => followUpOn(subscription);
  }
  const free = other === undefined ? customer : await giveWay(transaction, customer, other);
  const subscription = await before.$query(transaction).patchAndFetch({ ...after, ...due(before, null) });
  if (!hasBegun) return beginWith(transaction, free, subscription);
  await goOn(transaction, free, subscription, snapshot.isPaid);
  return undefined;
}

/** A customer who took the place of one that was deleted stays the account's. */
async function takeOverCustomer(
  transaction: Transaction,
  account: Account,
  { snapshot: { customerId }, hasPaymentMethod }: Look,
): Promise<Account> {
  if (account.stripe_customer_id !== null && account.stripe_customer_id !== customerId) return account;
  const patch = { stripe_customer_id: customerId, has_payment_method: hasPaymentMethod };
  return account.$query(transaction).patchAndFetch(patch);
}

/** Ends a subscription, and records which of its invoices are to be refunded. */
async function takeOverEnd(
  transaction: Transaction,
  account: Account,
  before: Subscription,
  after: Partial<Subscription>,
  snapshot: ProcessorSubscription,
): Promise<AfterCommit | undefined> {
  const owed = owedInvoices(before, snapshot);
  const hasBegun = before.begun_at !== null && before.status !== 'canceled';
  const current = hasBegun ? await renewUntil(transaction, account, before, snapshot.endedAt ?? now()) : account;
  const subscription = await before.$query(transaction).patchAndFetch(after);
  if (hasBegun) await end(transaction, current, subscription);
  await oweRefunds(transaction, subscription, owed);
  return owed.length === 0 ? undefined : () => refundSubscription(subscription);
}

/** The invoices of a subscription that has ended whose money was never of use to the account. */
function owedInvoices(before: Subscription, { invoices, endedAt }: ProcessorSubscription): SubscriptionInvoice[] {
  const { begun_at: begunAt, follow_up: followUp, paid_until: paidUntil } = before;
  return invoices.filter((invoice) => {
    if (invoice.totalCents <= 0) return false;
    // Never begun, a year of which no month was granted, and what was paid when it was over already.
    if (begunAt === null || (invoice.isYear && invoice.paidUntil > paidUntil)) return true;
    if (endedAt !== null && invoice.paidAt > endedAt) return true;
    return followUp === 'refund' && invoice.paidUntil > now();
  });
}

const DONE = { follow_up_due_at: null };
/** Left to the process that decides it before the sweep finds it. */
const GRACE_MS = 30_000;

type FollowUp = Subscription['follow_up'];

/** What is to be done at the processor, as state that the sweep finds. */
function due(before: Subscription, followUp: FollowUp) {
  if (followUp === null) return { follow_up: null, follow_up_at: null, follow_up_due_at: null };
  const since = before.follow_up === followUp && before.follow_up_at !== null ? before.follow_up_at : now();
  return { follow_up: followUp, follow_up_at: since, follow_up_due_at: addMilliseconds(now(), GRACE_MS) };
}

function othersOf(transaction: Transaction, { id, account_id: accountId }: Subscription) {
  return Subscription.query(transaction).where({ account_id: accountId }).whereNot({ id });
}

/** Given away, before there was a processor: it gives way to one that is paid for. */
async function giveWay(transaction: Transaction, account: Account, other: Subscription): Promise<Account> {
  const renewed = await renewUntil(transaction, account, other, now());
  return end(transaction, renewed, await other.$query(transaction).patchAndFetch({ status: 'canceled' }));
}

async function beginWith(
  transaction: Transaction,
  account: Account,
  subscription: Subscription,
): Promise<AfterCommit | undefined> {
  await begin(transaction, account, subscription);
  await subscription.$query(transaction).patch({ begun_at: now() });
  // What was suspended, and gave way to a new one, is not to be collected any more.
  const leftovers: Subscription[] = [];
  const suspended = othersOf(transaction, subscription).where({ status: 'unpaid' });
  for (const other of await suspended.whereNotNull('stripe_subscription_id')) {
    leftovers.push(await other.$query(transaction).patchAndFetch(due(other, 'cancel')));
  }
  return leftovers.length === 0 ? undefined : () => followUpOnAll(leftovers);
}

/** One that we see for the first time; nothing has followed from it yet. */
async function record(transaction: Transaction, account: Account, snapshot: ProcessorSubscription) {
  return Subscription.query(transaction).insertAndFetch({
    uuid: uuidv7(),
    account_id: account.id,
    plan_slug: snapshot.plan as string,
    status: 'incomplete',
    processor: PROCESSOR,
    stripe_subscription_id: snapshot.id,
    started_at: snapshot.startedAt,
    current_period_end: snapshot.currentPeriodEnd,
    paid_until: snapshot.startedAt,
    created_at: now(),
  });
}

function changes(
  before: Subscription,
  { snapshot, ticket, disputedChargeId, refundedUpgrade }: Look,
): Partial<Subscription> & Pick<Subscription, 'status' | 'paid_until'> {
  const { paidUntil: yearEnd, isPaid, plan } = snapshot;
  const paidUntil = yearEnd !== null && yearEnd > before.paid_until ? yearEnd : before.paid_until;
  const status = statusOf(snapshot, { paidUntil, isEverPaid: paidUntil > before.started_at, disputedChargeId });
  return {
    // Another plan counts from when it is paid for.
    plan_slug: plan !== null && (isPaid || before.begun_at === null) ? plan : before.plan_slug,
    status,
    current_period_end: snapshot.currentPeriodEnd,
    cancel_at_period_end: snapshot.cancelAtPeriodEnd,
    paid_until: paidUntil,
    past_due_since: status === 'past_due' ? (before.past_due_since ?? now()) : null,
    disputed_charge_id: disputedChargeId,
    refunded_upgrade: refundedUpgrade,
    sync_ticket: ticket,
    synced_at: now(),
  };
}

function statusOf(
  { status }: ProcessorSubscription,
  known: { paidUntil: Date; isEverPaid: boolean; disputedChargeId: string | null },
): SubscriptionStatus {
  if (!isLive(status)) return status;
  if (known.disputedChargeId !== null) return 'unpaid';
  if (!known.isEverPaid) return 'incomplete';
  // The year is paid; what is due is the change to another plan, which counts from when it is paid for.
  return known.paidUntil > now() ? 'active' : status;
}

/**
 * Does at the processor what is to be done about a subscription: it is superseded, or paid for twice by mistake. May be
 * repeated at any time; the look that follows records what has come of it.
 */
async function followUpOn({
  id,
  account_id: accountId,
  stripe_subscription_id,
  follow_up,
}: Subscription): Promise<void> {
  const subscriptionId = stripe_subscription_id as string;
  if (follow_up === 'resolve') {
    const other = await Subscription.query().modify('live').where({ account_id: accountId }).whereNot({ id }).first();
    if (other?.stripe_subscription_id != null) await sync(other.stripe_subscription_id);
    return sync(subscriptionId, { isSecondLook: true });
  }
  if (follow_up === 'refund') {
    logger.warn({ accountId, subscriptionId }, 'a second subscription of an account is refunded and ended');
  }
  await processor.cancelSubscription(subscriptionId);
  await sync(subscriptionId);
}

async function followUpOnAll(subscriptions: Subscription[]): Promise<void> {
  for (const subscription of subscriptions) await followUpOn(subscription);
}

async function sync(subscriptionId: string, reason: Reason = {}): Promise<void> {
  const effect = await subscriptionEffect(subscriptionId, reason);
  if (effect !== null) await carryOut(effect);
}

const BATCH_SIZE = 200;
const RETRY_BACKOFF_MS = { least: 30_000, most: 3_600_000 };

/** Follows up on subscriptions that are due: a process died, or the processor could not be reached. */
export async function followUpOnDue(): Promise<void> {
  if (processor.isSimulated) return;
  const overdue = await Subscription.query()
    .where('follow_up_due_at', '<=', now())
    .orderBy('follow_up_due_at')
    .limit(BATCH_SIZE);
  for (const subscription of overdue) {
    const ageMs = now().getTime() - (subscription.follow_up_at ?? now()).getTime();
    const waitMs = Math.min(RETRY_BACKOFF_MS.most, Math.max(RETRY_BACKOFF_MS.least, ageMs / 4));
    await Subscription.query()
      .findById(subscription.id)
      .whereNotNull('follow_up_due_at')
      .patch({ follow_up_due_at: addMilliseconds(now(), waitMs) });
    await attempt(async () => {
      await followUpOn(subscription);
      return null;
    });
  }
}

function isLive(status: SubscriptionStatus): boolean {
  return LIVE_SUBSCRIPTION_STATUSES.includes(status);
}
