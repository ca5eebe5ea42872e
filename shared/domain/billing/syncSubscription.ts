import type { Transaction } from 'objection';
import { v7 as uuidv7 } from 'uuid';
import { type ProcessorSubscription, processor, type SubscriptionInvoice } from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import { LIVE_SUBSCRIPTION_STATUSES, type SubscriptionStatus } from '../../spec/states.ts';
import { Account } from '../../tables/Account.ts';
import { Subscription } from '../../tables/Subscription.ts';
import { PROCESSOR_NAME } from './billingStatus.ts';
import {
  type AfterCommit,
  tryApply,
  applyChange,
  type AccountChange,
  nextSyncVersion,
  unresolvedChange,
} from './accountChanges.ts';
import {
  startSubscription,
  endSubscription,
  applySubscriptionChange,
  renewPeriodsUntil,
  suspendSubscription,
} from './subscriptions.ts';
import { recordOwedRefunds, issueSubscriptionRefunds } from './refunds.ts';
import { resolveReversals, type ReversalResolution } from './subscriptionReversals.ts';

/** What the processor says of a subscription, and when it was asked. */
interface SubscriptionSnapshot extends ReversalResolution {
  syncVersion: number;
  hasPaymentMethod: boolean;
  /** Whether the account's other subscription was just looked at, too. */
  isOtherSynced: boolean;
}

const UNKNOWN_PRICE = 'The price of the subscription is not in STRIPE_PRICE_*.';

interface SyncOptions {
  isOtherSynced?: boolean;
}

/**
 * Looks at a subscription, and says what it means to the account that it belongs to. The whole state is taken over each
 * time, whatever it was that made us look: so the order of events, and how often they come, do not matter.
 * @returns null where it is none of ours.
 */
export async function fetchSubscriptionChange(
  subscriptionId: string,
  options: SyncOptions = {},
): Promise<AccountChange | null> {
  const syncVersion = await nextSyncVersion();
  const known = await Subscription.query().findOne({ stripe_subscription_id: subscriptionId });
  const fetched = await processor.readSubscription(subscriptionId);
  if (fetched === null)
    return known === undefined || processor.isSimulated ? null : buildMissingSubscriptionChange(known, syncVersion);
  // A customer who was deleted there has another id by now: what is known already keeps its account.
  const account =
    known === undefined ? await findCustomerAccount(fetched) : await Account.query().findById(known.account_id);
  if (account === undefined) return null;
  if (fetched.plan === null) {
    logger.error({ subscriptionId, accountId: account.id }, 'a subscription on a price of none of our plans');
    if (known === undefined) return unresolvedChange(account.id, UNKNOWN_PRICE);
  }
  const review = await resolveReversals(fetched);
  const synced: SubscriptionSnapshot = {
    ...review,
    syncVersion,
    hasPaymentMethod: (await processor.findPaymentMethod(fetched.customerId)) !== null,
    isOtherSynced: options.isOtherSynced === true,
  };
  const problem = review.snapshot.plan === null ? UNKNOWN_PRICE : undefined;
  return {
    accountId: account.id,
    problem,
    apply: (transaction, locked) => applySubscriptionSnapshot(transaction, locked, synced),
  };
}

/** Finds the account of a customer, or the one that a subscription was started for. */
export async function findCustomerAccount({
  customerId,
  accountUuid,
}: Pick<ProcessorSubscription, 'customerId' | 'accountUuid'>): Promise<Account | undefined> {
  const customer = await Account.query().findOne({ stripe_customer_id: customerId });
  if (customer !== undefined || accountUuid === null) return customer;
  return Account.query().findOne({ uuid: accountUuid });
}

/** A secret key of another account, or test data that was deleted, must not end anything at once. */
const MISSING_GRACE_MS = 3 * 86_400_000;

/** Ends a subscription that the processor does not know any more, some days after the end of its period. */
function buildMissingSubscriptionChange(
  { id, account_id: accountId, stripe_subscription_id }: Subscription,
  syncVersion: number,
): AccountChange {
  logger.error({ subscriptionId: stripe_subscription_id, accountId }, 'subscription not found at the processor');
  return {
    accountId,
    apply: async (transaction, account) => {
      const current = await Subscription.query(transaction).findById(id).throwIfNotFound();
      if (current.sync_version >= syncVersion) return undefined;
      const syncedColumns = { sync_version: syncVersion, synced_at: now(), follow_up_next_attempt_at: null };
      const isOver = current.current_period_end <= addMilliseconds(now(), -MISSING_GRACE_MS);
      if (current.status === 'canceled' || !isOver) {
        await current.$query(transaction).patch(syncedColumns);
        return undefined;
      }
      const renewed = await renewPeriodsUntil(transaction, account, current, now());
      const ended = await current.$query(transaction).patchAndFetch({ ...syncedColumns, status: 'canceled' });
      await endSubscription(transaction, renewed, ended);
      return undefined;
    },
  };
}

async function applySubscriptionSnapshot(
  transaction: Transaction,
  account: Account,
  synced: SubscriptionSnapshot,
): Promise<AfterCommit | undefined> {
  const { snapshot, syncVersion } = synced;
  const known = await Subscription.query(transaction).findOne({ stripe_subscription_id: snapshot.id });
  if (known !== undefined && known.sync_version >= syncVersion) return undefined;
  const before = known ?? (await insertIncompleteSubscription(transaction, account, snapshot));
  const customer = await applyCustomerSnapshot(transaction, account, synced);
  const after = buildSubscriptionPatch(before, synced);
  // Patching changes the row's object, too: what it was is kept.
  const hasStarted = before.activated_at !== null && before.status !== 'canceled';
  const wasLive = isLiveStatus(before.status);
  const isSuperseded = hasStarted && account.subscription_id !== before.id;
  const isRefundPending = before.follow_up === 'refund';
  if (after.status === 'canceled')
    return applySubscriptionEnd(transaction, customer, before, { ...after, ...FOLLOW_UP_DONE }, snapshot);
  if (!isLiveStatus(after.status)) {
    // Another one has taken its place: it is not to be collected any more.
    const followUp = isRefundPending ? 'refund' : isSuperseded && after.status === 'unpaid' ? 'cancel' : null;
    const subscription = await before
      .$query(transaction)
      .patchAndFetch({ ...after, ...buildFollowUp(before, followUp) });
    if (wasLive) await suspendSubscription(transaction, customer, subscription);
    return followUp === null ? undefined : () => runFollowUp(subscription);
  }
  const other = await queryOtherSubscriptions(transaction, before).modify('live').first();
  if (isRefundPending || isSuperseded || (other !== undefined && other.stripe_subscription_id !== null)) {
    // What we know of the other one may be out of date: it is looked at before this one is turned down.
    const isCertain =
      isRefundPending || synced.isOtherSynced || other === undefined || other.stripe_subscription_id === null;
    const syncedColumns = {
      sync_version: syncVersion,
      synced_at: now(),
      ...buildFollowUp(before, isCertain ? 'refund' : 'resolve'),
    };
    const subscription = await before.$query(transaction).patchAndFetch(syncedColumns);
    return () => runFollowUp(subscription);
  }
  const unsubscribed = other === undefined ? customer : await endSimulatedSubscription(transaction, customer, other);
  const subscription = await before.$query(transaction).patchAndFetch({ ...after, ...buildFollowUp(before, null) });
  if (!hasStarted) return startAndCancelSuspended(transaction, unsubscribed, subscription);
  await applySubscriptionChange(transaction, unsubscribed, subscription, snapshot.isLatestInvoicePaid);
  return undefined;
}

/** A customer who took the place of one that was deleted stays the account's. */
async function applyCustomerSnapshot(
  transaction: Transaction,
  account: Account,
  { snapshot: { customerId }, hasPaymentMethod }: SubscriptionSnapshot,
): Promise<Account> {
  if (account.stripe_customer_id !== null && account.stripe_customer_id !== customerId) return account;
  const patch = { stripe_customer_id: customerId, has_payment_method: hasPaymentMethod };
  return account.$query(transaction).patchAndFetch(patch);
}

/** Ends a subscription, and records which of its invoices are to be refunded. */
async function applySubscriptionEnd(
  transaction: Transaction,
  account: Account,
  before: Subscription,
  after: Partial<Subscription>,
  snapshot: ProcessorSubscription,
): Promise<AfterCommit | undefined> {
  const owed = selectOwedInvoices(before, snapshot);
  const hasStarted = before.activated_at !== null && before.status !== 'canceled';
  const current = hasStarted
    ? await renewPeriodsUntil(transaction, account, before, snapshot.endedAt ?? now())
    : account;
  const subscription = await before.$query(transaction).patchAndFetch(after);
  if (hasStarted) await endSubscription(transaction, current, subscription);
  await recordOwedRefunds(transaction, subscription, owed);
  return owed.length === 0 ? undefined : () => issueSubscriptionRefunds(subscription);
}

/** The invoices of a subscription that has ended whose money was never of use to the account. */
function selectOwedInvoices(before: Subscription, { invoices, endedAt }: ProcessorSubscription): SubscriptionInvoice[] {
  const { activated_at: activatedAt, follow_up: followUp, paid_until: paidUntil } = before;
  return invoices.filter((invoice) => {
    if (invoice.paidCents <= 0) return false;
    // Never begun, a year of which no month was granted, and what was paid when it was over already.
    if (activatedAt === null || (invoice.isAnnual && invoice.paidUntil > paidUntil)) return true;
    if (endedAt !== null && invoice.paidAt > endedAt) return true;
    return followUp === 'refund' && invoice.paidUntil > now();
  });
}

const FOLLOW_UP_DONE = { follow_up_next_attempt_at: null };
/** Left to the process that decides it before the sweep finds it. */
const SWEEP_GRACE_MS = 30_000;

type FollowUp = Subscription['follow_up'];

/** What is to be done at the processor, as state that the sweep finds. */
function buildFollowUp(before: Subscription, followUp: FollowUp) {
  if (followUp === null) return { follow_up: null, follow_up_at: null, follow_up_next_attempt_at: null };
  const since = before.follow_up === followUp && before.follow_up_at !== null ? before.follow_up_at : now();
  return {
    follow_up: followUp,
    follow_up_at: since,
    follow_up_next_attempt_at: addMilliseconds(now(), SWEEP_GRACE_MS),
  };
}

function queryOtherSubscriptions(transaction: Transaction, { id, account_id: accountId }: Subscription) {
  return Subscription.query(transaction).where({ account_id: accountId }).whereNot({ id });
}

/** Given away, before there was a processor: it gives way to one that is paid for. */
async function endSimulatedSubscription(
  transaction: Transaction,
  account: Account,
  other: Subscription,
): Promise<Account> {
  const renewed = await renewPeriodsUntil(transaction, account, other, now());
  return endSubscription(transaction, renewed, await other.$query(transaction).patchAndFetch({ status: 'canceled' }));
}

async function startAndCancelSuspended(
  transaction: Transaction,
  account: Account,
  subscription: Subscription,
): Promise<AfterCommit | undefined> {
  await startSubscription(transaction, account, subscription);
  await subscription.$query(transaction).patch({ activated_at: now() });
  // What was suspended, and gave way to a new one, is not to be collected any more.
  const suspendedSubscriptions: Subscription[] = [];
  const suspended = queryOtherSubscriptions(transaction, subscription).where({ status: 'unpaid' });
  for (const other of await suspended.whereNotNull('stripe_subscription_id')) {
    suspendedSubscriptions.push(await other.$query(transaction).patchAndFetch(buildFollowUp(other, 'cancel')));
  }
  return suspendedSubscriptions.length === 0 ? undefined : () => runFollowUps(suspendedSubscriptions);
}

/** One that we see for the first time; nothing has followed from it yet. */
async function insertIncompleteSubscription(
  transaction: Transaction,
  account: Account,
  snapshot: ProcessorSubscription,
) {
  return Subscription.query(transaction).insertAndFetch({
    uuid: uuidv7(),
    account_id: account.id,
    plan_slug: snapshot.plan as string,
    status: 'incomplete',
    processor: PROCESSOR_NAME,
    stripe_subscription_id: snapshot.id,
    started_at: snapshot.startedAt,
    current_period_end: snapshot.currentPeriodEnd,
    paid_until: snapshot.startedAt,
    created_at: now(),
  });
}

function buildSubscriptionPatch(
  before: Subscription,
  { snapshot, syncVersion, disputedChargeId, refundedUpgrade }: SubscriptionSnapshot,
): Partial<Subscription> & Pick<Subscription, 'status' | 'paid_until'> {
  const { paidUntil: yearEnd, isLatestInvoicePaid, plan } = snapshot;
  const paidUntil = yearEnd !== null && yearEnd > before.paid_until ? yearEnd : before.paid_until;
  const status = deriveSubscriptionStatus(snapshot, {
    paidUntil,
    isEverPaid: paidUntil > before.started_at,
    disputedChargeId,
  });
  return {
    // Another plan counts from when it is paid for.
    plan_slug: plan !== null && (isLatestInvoicePaid || before.activated_at === null) ? plan : before.plan_slug,
    status,
    current_period_end: snapshot.currentPeriodEnd,
    cancel_at_period_end: snapshot.cancelAtPeriodEnd,
    paid_until: paidUntil,
    past_due_since: status === 'past_due' ? (before.past_due_since ?? now()) : null,
    disputed_charge_id: disputedChargeId,
    refunded_upgrade: refundedUpgrade,
    sync_version: syncVersion,
    synced_at: now(),
  };
}

function deriveSubscriptionStatus(
  { status }: ProcessorSubscription,
  known: { paidUntil: Date; isEverPaid: boolean; disputedChargeId: string | null },
): SubscriptionStatus {
  if (!isLiveStatus(status)) return status;
  if (known.disputedChargeId !== null) return 'unpaid';
  if (!known.isEverPaid) return 'incomplete';
  // The year is paid; what is due is the change to another plan, which counts from when it is paid for.
  return known.paidUntil > now() ? 'active' : status;
}

/**
 * Does at the processor what is to be done about a subscription: it is superseded, or paid for twice by mistake. May be
 * repeated at any time; the look that follows records what has come of it.
 */
async function runFollowUp({
  id,
  account_id: accountId,
  stripe_subscription_id,
  follow_up,
}: Subscription): Promise<void> {
  const subscriptionId = stripe_subscription_id as string;
  if (follow_up === 'resolve') {
    const other = await Subscription.query().modify('live').where({ account_id: accountId }).whereNot({ id }).first();
    if (other?.stripe_subscription_id != null) await syncSubscription(other.stripe_subscription_id);
    return syncSubscription(subscriptionId, { isOtherSynced: true });
  }
  if (follow_up === 'refund') {
    logger.warn({ accountId, subscriptionId }, 'a second subscription of an account is refunded and ended');
  }
  await processor.cancelSubscription(subscriptionId);
  await syncSubscription(subscriptionId);
}

async function runFollowUps(subscriptions: Subscription[]): Promise<void> {
  for (const subscription of subscriptions) await runFollowUp(subscription);
}

async function syncSubscription(subscriptionId: string, options: SyncOptions = {}): Promise<void> {
  const change = await fetchSubscriptionChange(subscriptionId, options);
  if (change !== null) await applyChange(change);
}

const BATCH_SIZE = 200;
const RETRY_BACKOFF_MS = { min: 30_000, max: 3_600_000 };

/** Follows up on subscriptions that are due: a process died, or the processor could not be reached. */
export async function runDueFollowUps(): Promise<void> {
  if (processor.isSimulated) return;
  const dueSubscriptions = await Subscription.query()
    .where('follow_up_next_attempt_at', '<=', now())
    .orderBy('follow_up_next_attempt_at')
    .limit(BATCH_SIZE);
  for (const subscription of dueSubscriptions) {
    const ageMs = now().getTime() - (subscription.follow_up_at ?? now()).getTime();
    const waitMs = Math.min(RETRY_BACKOFF_MS.max, Math.max(RETRY_BACKOFF_MS.min, ageMs / 4));
    await Subscription.query()
      .findById(subscription.id)
      .whereNotNull('follow_up_next_attempt_at')
      .patch({ follow_up_next_attempt_at: addMilliseconds(now(), waitMs) });
    await tryApply(async () => {
      await runFollowUp(subscription);
      return null;
    });
  }
}

function isLiveStatus(status: SubscriptionStatus): boolean {
  return LIVE_SUBSCRIPTION_STATUSES.includes(status);
}
