import type { Transaction } from 'objection';
import { v7 as uuidv7 } from 'uuid';
import {
  PROCESSOR_NAME,
  type ProcessorSubscription,
  type ReviewedInvoice,
  type SubscriptionInvoice,
} from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import type { PlanSlug } from '../../spec/plans.ts';
import type { Account } from '../../tables/Account.ts';
import { Subscription } from '../../tables/Subscription.ts';
import { recordEvent } from '../outbox/recordEvent.ts';
import { entitlementFor } from '../credits/entitlement.ts';
import { rescheduleTasks, scheduleTasks } from '../tasks/scheduleTasks.ts';
import { applySubscriptionInvoices } from './invoices.ts';
import { oweBackAfterDeletion, oweRefunds } from './owedRefunds.ts';
import { recordPlanHistory } from './planHistory.ts';
import { FOLLOW_UP_KIND } from './processorTasks.ts';
import type { ReversalResolution } from './returnedPayments.ts';
import { deriveSubscriptionStatus, isLiveStatus } from './subscriptionStatus.ts';
import {
  continueSubscription,
  endSubscription,
  resumeSubscription,
  startSubscription,
  suspendSubscription,
} from './subscriptions.ts';
import { DAY_MS, HOUR_MS } from '../../spec/durations.ts';

/** The state of a subscription at the processor, including its refunds and disputes. */
interface SubscriptionState extends ReversalResolution {
  syncVersion: number;
  hasPaymentMethod: boolean;
  /** True if the account's other live subscription was synced just before this one. */
  isOtherSynced: boolean;
}

/** Applies the state of a subscription to its account. A state older than the last one changes nothing. */
export async function applySubscriptionState(
  transaction: Transaction,
  account: Account,
  snapshot: SubscriptionState,
): Promise<void> {
  const { subscription: fetched, syncVersion } = snapshot;
  const known = await Subscription.query(transaction).findOne({ stripe_subscription_id: fetched.id });
  if (known !== undefined && known.sync_version >= syncVersion) return;
  const before = known ?? (await insertIncompleteSubscription(transaction, account, fetched));
  const isErased = account.erased_at !== null;
  await applySubscriptionInvoices(transaction, account, before, snapshot);
  const paidPlan = await recordPlanHistory(transaction, before, fetched, snapshot.invoices);
  if (isErased) await oweBackAfterDeletion(transaction, account);
  const customer = await applyCustomerSnapshot(transaction, account, snapshot);
  const after = buildSubscriptionPatch(before, snapshot, paidPlan);
  // Read before patching, which changes `before` as well.
  const wasActivated = before.activated_at !== null;
  // A row that had ended here and waits for its follow-up is incomplete.
  const hasStarted = wasActivated && before.status !== 'canceled' && before.status !== 'incomplete';
  const wasLive = isLiveStatus(before.status);
  const wasPastDue = before.past_due_since !== null;
  const isSuperseded = hasStarted && account.subscription_id !== before.id;
  const isRefundPending = before.follow_up === 'refund' || (isErased && !wasActivated);
  if (after.status === 'canceled') return applySubscriptionEnd(transaction, customer, before, after, snapshot);
  if (!isLiveStatus(after.status)) {
    // A suspended subscription that another one has replaced is canceled, so that its invoice is not collected.
    const action = isRefundPending ? 'refund' : isSuperseded && after.status === 'unpaid' ? 'cancel' : null;
    const subscription = await patchWithFollowUp(transaction, before, action, after);
    if (wasLive) await suspendSubscription(transaction, customer, subscription);
    return;
  }
  const other = await queryOtherSubscriptions(transaction, before).modify('live').first();
  if (isRefundPending || isSuperseded || (other !== undefined && other.stripe_subscription_id !== null)) {
    // The other one may have ended without an event: it is synced before this one is refunded.
    const isCertain =
      isRefundPending || snapshot.isOtherSynced || other === undefined || other.stripe_subscription_id === null;
    const syncedColumns = { sync_version: syncVersion, synced_at: now() };
    await patchWithFollowUp(transaction, before, isCertain ? 'refund' : 'resolve', syncedColumns);
    return;
  }
  // One from before a processor was configured: the one that is paid for replaces it.
  const unsubscribed = other === undefined ? customer : await endSubscription(transaction, customer, other);
  const subscription = await patchWithFollowUp(transaction, before, null, after);
  if (!wasPastDue) await recordPaymentFailure(transaction, subscription);
  if (!wasActivated) return startAndCancelSuspended(transaction, unsubscribed, subscription);
  await (hasStarted ? continueSubscription : resumeSubscription)(transaction, unsubscribed, subscription);
}

/** Patches a subscription, and schedules the call at the processor that follows from its state. */
async function patchWithFollowUp(
  transaction: Transaction,
  subscription: Subscription,
  followUp: Subscription['follow_up'],
  patch: Partial<Subscription>,
): Promise<Subscription> {
  const { id, account_id: accountId, status } = subscription;
  // Follow-ups of canceled subscriptions are not carried out: this one had ended here, and lives at the processor.
  const reopened = followUp !== null && status === 'canceled' ? { status: 'incomplete' as const, ended_at: null } : {};
  // A run that has found nothing to do must not complete the task of this one; a run that fails keeps its attempts.
  const write = subscription.follow_up === null ? rescheduleTasks : scheduleTasks;
  if (followUp !== null) await write(transaction, FOLLOW_UP_KIND, [{ key: String(id), accountId }]);
  return subscription.$query(transaction).patchAndFetch({ ...reopened, ...patch, follow_up: followUp });
}

/** Inserts the row of a subscription that is seen for the first time, before anything follows from its state. */
function insertIncompleteSubscription(
  transaction: Transaction,
  account: Account,
  subscription: ProcessorSubscription,
): Promise<Subscription> {
  return Subscription.query(transaction)
    .insertAndFetch({
      uuid: uuidv7(),
      account_id: account.id,
      plan_slug: subscription.plan as string,
      status: 'incomplete',
      processor: PROCESSOR_NAME,
      stripe_subscription_id: subscription.id,
      started_at: subscription.startedAt,
      current_period_end: subscription.currentPeriodEnd,
      paid_until: subscription.startedAt,
      created_at: now(),
    })
    .execute();
}

/**
 * Returns the columns of a subscription that follow from its state at the processor.
 * @param paidPlan the plan that is paid now, by the plan history; null without one.
 */
function buildSubscriptionPatch(
  before: Subscription,
  { subscription, syncVersion, disputedChargeId, refundedUpgrade }: SubscriptionState,
  paidPlan: PlanSlug | null,
): Partial<Subscription> & Pick<Subscription, 'status' | 'paid_until'> {
  const { paidUntil: yearEnd, plan } = subscription;
  const paidUntil = yearEnd !== null && yearEnd > before.paid_until ? yearEnd : before.paid_until;
  const known = { paid_until: paidUntil, started_at: before.started_at, disputedChargeId };
  const status = deriveSubscriptionStatus(subscription, known);
  return {
    plan_slug: paidPlan ?? (before.activated_at === null && plan !== null ? plan : before.plan_slug),
    status,
    current_period_end: subscription.currentPeriodEnd,
    cancel_at_period_end: subscription.cancelAtPeriodEnd,
    paid_until: paidUntil,
    ended_at: status === 'canceled' ? (before.ended_at ?? subscription.endedAt ?? now()) : null,
    past_due_since: status === 'past_due' ? (before.past_due_since ?? now()) : null,
    disputed_charge_id: disputedChargeId,
    refunded_upgrade: refundedUpgrade,
    sync_version: syncVersion,
    synced_at: now(),
  };
}

/** Records that a renewal was not paid, with the time after which no credits can be spent. */
async function recordPaymentFailure(transaction: Transaction, subscription: Subscription): Promise<void> {
  const { uuid, account_id: accountId, past_due_since: pastDueSince } = subscription;
  if (pastDueSince === null) return;
  const { plan_slug: plan, spendable_until: spendableUntil } = entitlementFor(subscription);
  const details = { plan, spendable_until: spendableUntil?.toISOString() ?? null };
  const subject = `${uuid}:${pastDueSince.toISOString()}`;
  await recordEvent(transaction, { accountId, type: 'payment.failed', subject, details });
}

/** A wrong STRIPE_SECRET_KEY, or deleted test data, must not end subscriptions right away. */
const MISSING_GRACE_MS = 3 * DAY_MS;

/** Ends a subscription that the processor no longer has, some days after the end of its period. */
export async function applyMissingSubscription(
  transaction: Transaction,
  account: Account,
  subscriptionRowId: number,
  syncVersion: number,
): Promise<void> {
  const current = await Subscription.query(transaction).findById(subscriptionRowId).throwIfNotFound();
  if (current.sync_version >= syncVersion) return;
  const syncedColumns = { sync_version: syncVersion, synced_at: now() };
  const isOver = current.current_period_end <= addMilliseconds(now(), -MISSING_GRACE_MS);
  if (current.status === 'canceled' || !isOver) {
    await current.$query(transaction).patch(syncedColumns);
    return;
  }
  await endSubscription(transaction, account, current, syncedColumns);
}

/** Stores the customer id and payment method, unless the account already has another customer. */
async function applyCustomerSnapshot(
  transaction: Transaction,
  account: Account,
  { subscription: { customerId }, hasPaymentMethod }: SubscriptionState,
): Promise<Account> {
  if (account.stripe_customer_id !== null && account.stripe_customer_id !== customerId) return account;
  const patch = { stripe_customer_id: customerId, has_payment_method: hasPaymentMethod };
  return account.$query(transaction).patchAndFetch(patch);
}

/** Ends a subscription and records which of its invoices are to be refunded. */
async function applySubscriptionEnd(
  transaction: Transaction,
  account: Account,
  before: Subscription,
  after: Partial<Subscription> & Pick<Subscription, 'paid_until'>,
  { subscription: { endedAt }, invoices }: SubscriptionState,
): Promise<void> {
  const { owed, doubtful } = selectOwedInvoices(before, invoices, endedAt);
  const isUnseenRenewal = ({ isAnnual, paidUntil, paidAt }: SubscriptionInvoice) =>
    isAnnual && paidUntil > before.paid_until && endedAt !== null && paidAt <= endedAt;
  if (before.status === 'canceled') await before.$query(transaction).patch(after);
  else {
    // The months that had started are granted as if the renewal had been seen before the end.
    if (account.subscription_id === before.id && invoices.some(isUnseenRenewal))
      await before.$query(transaction).patch({ status: 'active', paid_until: after.paid_until });
    await endSubscription(transaction, account, before, after);
  }
  await oweRefunds(transaction, account.id, { invoices: owed }, 'unused');
  await oweRefunds(transaction, account.id, { invoices: doubtful }, 'unused', DOUBT);
}

/** A year that ended sooner than this after its renewal was paid is owed back: the payment and the end crossed. */
const CROSSED_MS = HOUR_MS;
/** A subscription that was used ends later than this after its payment; one that never started here usually sooner. */
const UNUSED_MS = 3 * DAY_MS;
const DOUBT =
  'The subscription ended without ever having started here, long after it was paid. Find out if it was used.';

/**
 * Returns the ids of the paid invoices of an ended subscription that the account never got anything for. If it ended
 * long after it was paid and never started here, the database may have been restored from before it, and staff decide.
 */
function selectOwedInvoices(before: Subscription, invoices: ReviewedInvoice[], endedAt: Date | null) {
  const { activated_at: activatedAt, follow_up: followUp, started_at: startedAt } = before;
  const isRenewal = ({ isAnnual, periodStart }: SubscriptionInvoice) => isAnnual && periodStart > startedAt;
  const isUnused = (invoice: SubscriptionInvoice) =>
    activatedAt === null ||
    (endedAt !== null && invoice.paidAt > addMilliseconds(endedAt, isRenewal(invoice) ? -CROSSED_MS : 0)) ||
    (followUp === 'refund' && invoice.paidUntil > now());
  const isDoubtful = ({ paidAt }: SubscriptionInvoice) =>
    activatedAt === null && followUp !== 'refund' && endedAt !== null && endedAt > addMilliseconds(paidAt, UNUSED_MS);
  // Payments that were returned already are not owed, whenever the end of the subscription is known.
  const unused = invoices.filter((one) => one.paidCents > 0 && one.returnedAt === null && isUnused(one));
  const listIds = (isListed: (invoice: SubscriptionInvoice) => boolean) => unused.filter(isListed).map(({ id }) => id);
  return { owed: listIds((invoice) => !isDoubtful(invoice)), doubtful: listIds(isDoubtful) };
}

function queryOtherSubscriptions(transaction: Transaction, { id, account_id: accountId }: Subscription) {
  return Subscription.query(transaction).where({ account_id: accountId }).whereNot({ id });
}

/** Starts a subscription, and cancels suspended ones that it replaces, so that their invoices are not collected. */
async function startAndCancelSuspended(
  transaction: Transaction,
  account: Account,
  subscription: Subscription,
): Promise<void> {
  await startSubscription(transaction, account, subscription);
  await subscription.$query(transaction).patch({ activated_at: now() });
  const suspended = queryOtherSubscriptions(transaction, subscription).where({ status: 'unpaid' });
  for (const other of await suspended.whereNotNull('stripe_subscription_id'))
    await patchWithFollowUp(transaction, other, 'cancel', {});
}
