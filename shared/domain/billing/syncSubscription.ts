import type { Transaction } from 'objection';
import { v7 as uuidv7 } from 'uuid';
import { processor, type ProcessorSubscription } from '../../gateways/payments/index.ts';
import { now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import { LIVE_SUBSCRIPTION_STATUSES, type SubscriptionStatus } from '../../spec/states.ts';
import { Account } from '../../tables/Account.ts';
import { Subscription } from '../../tables/Subscription.ts';
import { PROCESSOR } from '../subscriptions.ts';
import { type Afterwards, carryOut, type Effect, takeTicket, unresolved } from './effects.ts';
import { begin, end, goOn, suspend } from './lifecycle.ts';
import { turnDown } from './turnDown.ts';

/** What the processor says of a subscription, and when it was asked. */
interface Look {
  snapshot: ProcessorSubscription;
  ticket: number;
  hasPaymentMethod: boolean;
  /** The charge of it that is being disputed now. */
  disputedChargeId: string | null;
  /** Whether the account's other subscription was just looked at, too. */
  isSecondLook: boolean;
}

const NO_PLAN = 'The price of the subscription is not in STRIPE_PRICE_*.';

interface Reason {
  /** A charge of it that is disputed. */
  disputedChargeId?: string;
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
  const disputedChargeId = await stillDisputed(
    subscriptionId,
    reason.disputedChargeId ?? known?.disputed_charge_id ?? null,
  );
  const snapshot = await processor.readSubscription(subscriptionId);
  const account = snapshot === null ? undefined : await ownerOf(snapshot);
  if (snapshot === null || account === undefined) return null;
  if (snapshot.plan === null) {
    logger.error({ subscriptionId, accountId: account.id }, 'a subscription on a price of none of our plans');
    if (known === undefined) return unresolved(account.id, NO_PLAN);
  }
  const look: Look = {
    snapshot,
    ticket,
    hasPaymentMethod: (await processor.paymentMethodOf(snapshot.customerId)) !== null,
    disputedChargeId,
    isSecondLook: reason.isSecondLook === true,
  };
  const problem = snapshot.plan === null ? NO_PLAN : undefined;
  return { accountId: account.id, problem, apply: (transaction, locked) => takeOver(transaction, locked, look) };
}

/** Whose customer it is: of what the processor has. */
export async function ownerOf({
  customerId,
  accountUuid,
}: Pick<ProcessorSubscription, 'customerId' | 'accountUuid'>): Promise<Account | undefined> {
  const customer = await Account.query().findOne({ stripe_customer_id: customerId });
  if (customer !== undefined || accountUuid === null) return customer;
  return Account.query().findOne({ uuid: accountUuid }).whereNull('stripe_customer_id');
}

/** The charge, if it is disputed still. A dispute that is lost ends the subscription, unless that year is over. */
async function stillDisputed(subscriptionId: string, chargeId: string | null): Promise<string | null> {
  const charge = chargeId === null ? null : await processor.readCharge(chargeId);
  if (charge === null || !('dispute' in charge) || charge.paidUntil <= now()) return null;
  if (charge.dispute === 'lost') await processor.cancelSubscription(subscriptionId);
  return charge.dispute === 'open' || charge.dispute === 'lost' ? chargeId : null;
}

async function takeOver(transaction: Transaction, account: Account, look: Look): Promise<Afterwards | undefined> {
  const { snapshot, ticket } = look;
  const known = await Subscription.query(transaction).findOne({ stripe_subscription_id: snapshot.id });
  if (known !== undefined && known.sync_ticket >= ticket) return undefined;
  const before = known ?? (await record(transaction, account, snapshot));
  const customer = await account.$query(transaction).patchAndFetch({
    stripe_customer_id: snapshot.customerId,
    has_payment_method: look.hasPaymentMethod,
  });
  const after = changes(before, look);
  // Patching changes the row's object, too: what it was is kept.
  const hasBegun = before.begun_at !== null && before.status !== 'canceled';
  const wasLive = isLive(before.status);
  const isSuperseded = hasBegun && account.subscription_id !== before.id;
  const hasPaidMore = after.paid_until > before.paid_until;
  if (!isLive(after.status)) {
    const subscription = await before.$query(transaction).patchAndFetch(after);
    if (hasBegun && after.status === 'canceled') await end(transaction, customer, subscription);
    else if (wasLive) await suspend(transaction, customer, subscription);
    return leftToDo(subscription, { hasBegun, hasPaidMore, isOthers: isSuperseded });
  }
  const other = await othersOf(transaction, before).modify('live').first();
  if (isSuperseded || (other !== undefined && other.stripe_subscription_id !== null)) {
    await before.$query(transaction).patch({ sync_ticket: ticket, synced_at: now() });
    return keepOne(account.id, snapshot.id, other?.stripe_subscription_id ?? null, look.isSecondLook);
  }
  const free = other === undefined ? customer : await giveWay(transaction, customer, other);
  const subscription = await before.$query(transaction).patchAndFetch(after);
  if (!hasBegun) return beginWith(transaction, free, subscription);
  await goOn(transaction, free, subscription, snapshot.isPaid);
  return undefined;
}

/** What is left to be done at the processor about one that is not alive. */
function leftToDo(
  { account_id: accountId, status, stripe_subscription_id: id }: Subscription,
  { hasBegun, hasPaidMore, isOthers }: { hasBegun: boolean; hasPaidMore: boolean; isOthers: boolean },
): Afterwards | undefined {
  // Paid for when it was over already, or without ever having been of use.
  if (status === 'canceled' && !hasBegun && hasPaidMore) return () => turnDown(accountId, id as string);
  // Another one has taken its place: it is not to be collected any more.
  if (status === 'unpaid' && isOthers) return () => processor.cancelSubscription(id as string);
  return undefined;
}

function othersOf(transaction: Transaction, { id, account_id: accountId }: Subscription) {
  return Subscription.query(transaction).where({ account_id: accountId }).whereNot({ id });
}

/** Given away, before there was a processor: it gives way to one that is paid for. */
async function giveWay(transaction: Transaction, account: Account, other: Subscription): Promise<Account> {
  return end(transaction, account, await other.$query(transaction).patchAndFetch({ status: 'canceled' }));
}

async function beginWith(
  transaction: Transaction,
  account: Account,
  subscription: Subscription,
): Promise<Afterwards | undefined> {
  await begin(transaction, account, subscription);
  await subscription.$query(transaction).patch({ begun_at: now() });
  const suspended = othersOf(transaction, subscription).where({ status: 'unpaid' });
  const leftovers = await suspended.whereNotNull('stripe_subscription_id');
  return leftovers.length === 0 ? undefined : () => endAll(leftovers);
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
  { snapshot, ticket, disputedChargeId }: Look,
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
 * An account has one subscription. What we know of the other one may be out of date: it is looked at before this one is
 * turned down, as paid for twice by mistake.
 */
function keepOne(accountId: number, subscriptionId: string, otherId: string | null, isSecondLook: boolean): Afterwards {
  if (isSecondLook || otherId === null) return () => turnDown(accountId, subscriptionId);
  return async () => {
    for (const [id, reason] of [[otherId], [subscriptionId, { isSecondLook: true }]] as const) {
      const effect = await subscriptionEffect(id, reason);
      if (effect !== null) await carryOut(effect);
    }
  };
}

/** What was suspended, and gave way to a new one, is not to be collected any more. */
async function endAll(leftovers: Subscription[]): Promise<void> {
  for (const { stripe_subscription_id: id } of leftovers) {
    await processor.cancelSubscription(id as string);
    const effect = await subscriptionEffect(id as string);
    if (effect !== null) await carryOut(effect);
  }
}

function isLive(status: SubscriptionStatus): boolean {
  return LIVE_SUBSCRIPTION_STATUSES.includes(status);
}
