import type { Transaction } from 'objection';
import { v7 as uuidv7 } from 'uuid';
import { type ProcessorSubscription, requireProcessor } from '../../gateways/payments/index.ts';
import { now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import { LIVE_SUBSCRIPTION_STATUSES, type SubscriptionStatus } from '../../spec/states.ts';
import { Account } from '../../tables/Account.ts';
import { Subscription } from '../../tables/Subscription.ts';
import { PROCESSOR } from '../subscriptions.ts';
import { type Afterwards, type Effect, takeTicket } from './effects.ts';
import { begin, changePlan, end, goOn, suspend } from './lifecycle.ts';

/** What the processor says of a subscription, and when it was asked. */
interface Look {
  snapshot: ProcessorSubscription;
  ticket: number;
  hasPaymentMethod: boolean;
  /** Known from a charge, and not from the subscription itself; undefined where nobody has looked. */
  isDisputed: boolean | undefined;
}

/**
 * Looks at a subscription, and says what it means to the account that it belongs to. The whole state is taken over each
 * time, whatever it was that made us look: so the order of events, and how often they come, do not matter.
 * @returns null where it is none of ours.
 */
export async function subscriptionEffect(subscriptionId: string, isDisputed?: boolean): Promise<Effect | null> {
  const ticket = await takeTicket();
  const snapshot = await requireProcessor().readSubscription(subscriptionId);
  const account = snapshot === null ? undefined : await ownerOf(snapshot);
  if (snapshot === null || account === undefined) return null;
  if (snapshot.plan === null) {
    logger.warn({ subscriptionId, accountId: account.id }, 'a subscription to none of our plans');
    return null;
  }
  const hasPaymentMethod = (await requireProcessor().paymentMethodOf(snapshot.customerId)) !== null;
  const look = { snapshot, ticket, hasPaymentMethod, isDisputed };
  return { accountId: account.id, apply: (transaction, locked) => takeOver(transaction, locked, look) };
}

async function ownerOf({ customerId, accountUuid }: ProcessorSubscription): Promise<Account | undefined> {
  const customer = await Account.query().findOne({ stripe_customer_id: customerId });
  if (customer !== undefined || accountUuid === null) return customer;
  return Account.query().findOne({ uuid: accountUuid }).whereNull('stripe_customer_id');
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
  const others = Subscription.query(transaction).modify('live').where({ account_id: account.id });
  const other = await others.whereNot({ id: before.id }).first();
  if (other !== undefined && isLive(after.status)) {
    if (other.stripe_subscription_id !== null) return turnDown(transaction, before, look);
    // Given away, before there was a processor: it gives way to one that is paid for.
    await end(transaction, customer, await other.$query(transaction).patchAndFetch({ status: 'canceled' }));
  }
  // Patching changes the row's object, too: what it was is kept.
  const was = { status: before.status, plan_slug: before.plan_slug, begun_at: before.begun_at };
  await follow(transaction, customer, was, await before.$query(transaction).patchAndFetch(after));
  return undefined;
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
  { snapshot, ticket, isDisputed }: Look,
): Partial<Subscription> & { status: SubscriptionStatus } {
  const disputed = isDisputed ?? before.is_disputed;
  const paidUntil =
    snapshot.isPaid && snapshot.currentPeriodEnd > before.paid_until ? snapshot.currentPeriodEnd : before.paid_until;
  const wasEverPaid = paidUntil > before.started_at;
  const status =
    disputed && isLive(snapshot.status)
      ? 'unpaid'
      : wasEverPaid || !isLive(snapshot.status)
        ? snapshot.status
        : 'incomplete';
  return {
    plan_slug: snapshot.plan as string,
    status,
    current_period_end: snapshot.currentPeriodEnd,
    cancel_at_period_end: snapshot.cancelAtPeriodEnd,
    paid_until: paidUntil,
    past_due_since: status === 'past_due' ? (before.past_due_since ?? now()) : null,
    is_disputed: disputed,
    sync_ticket: ticket,
    synced_at: now(),
  };
}

/** What a change of the subscription means to its account. */
async function follow(
  transaction: Transaction,
  account: Account,
  before: Pick<Subscription, 'status' | 'plan_slug' | 'begun_at'>,
  after: Subscription,
): Promise<void> {
  const hasBegun = before.begun_at !== null && before.status !== 'canceled';
  if (isLive(after.status)) {
    if (!hasBegun) {
      await begin(transaction, account, after);
      await after.$query(transaction).patch({ begun_at: now() });
    } else if (before.plan_slug !== after.plan_slug) await changePlan(transaction, account, after);
    else await goOn(transaction, account, after);
  } else if (hasBegun && after.status === 'canceled') await end(transaction, account, after);
  else if (isLive(before.status)) await suspend(transaction, account);
}

/** A second subscription of an account that has a live one: paid for twice by mistake, and of no use to anybody. */
async function turnDown(
  transaction: Transaction,
  before: Subscription,
  { snapshot, ticket }: Look,
): Promise<Afterwards> {
  await before.$query(transaction).patch({ sync_ticket: ticket, synced_at: now() });
  logger.error(
    { accountId: before.account_id, subscriptionId: snapshot.id },
    'a second subscription is ended: refund it',
  );
  return () => requireProcessor().cancelSubscription(snapshot.id);
}

function isLive(status: SubscriptionStatus): boolean {
  return LIVE_SUBSCRIPTION_STATUSES.includes(status);
}
