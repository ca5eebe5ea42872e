import type { Transaction } from 'objection';
import { processor } from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { PAST_DUE_GRACE_DAYS } from '../../spec/limits.ts';
import type { Account } from '../../tables/Account.ts';
import { Subscription } from '../../tables/Subscription.ts';
import { tryApply, type AccountChange, runSteps } from './accountChanges.ts';
import { endSubscription, renewPeriodsUntil } from './subscriptions.ts';
import { issueDueRefunds } from './refunds.ts';
import { syncPendingTopups } from './pendingTopups.ts';
import { runDueFollowUps, fetchSubscriptionChange } from './syncSubscription.ts';

const DAY_MS = 86_400_000;
/** What was looked at within a minute is not looked at again. */
const RESYNC_INTERVAL_MS = 60_000;
const BATCH_SIZE = 200;

/** What is due by the clock alone, and does not wait for the processor to say so. */
export async function runBillingMaintenance(): Promise<void> {
  await runSteps([
    syncPendingTopups,
    expireSimulatedSubscriptions,
    runDueFollowUps,
    issueDueRefunds,
    cancelPastDue,
    syncLapsed,
  ]);
}

/** A year that nobody paid for is not renewed. */
async function expireSimulatedSubscriptions(): Promise<void> {
  const expired = await Subscription.query()
    .modify('live')
    .whereNull('stripe_subscription_id')
    .where('current_period_end', '<=', now())
    .orderByRaw(LEAST_RECENTLY_SYNCED_FIRST)
    .limit(BATCH_SIZE);
  for (const { id, account_id: accountId } of expired) {
    await tryApplyOrDefer(id, async () => ({
      accountId,
      apply: (transaction, account) => expireSimulatedSubscription(transaction, account, id),
    }));
  }
}

async function expireSimulatedSubscription(transaction: Transaction, account: Account, id: number): Promise<undefined> {
  const live = await Subscription.query(transaction).modify('live').findById(id);
  if (live === undefined) return;
  // The months of its last year may not have been granted yet: everything was down.
  const renewed = await renewPeriodsUntil(transaction, account, live, now());
  await endSubscription(transaction, renewed, await live.$query(transaction).patchAndFetch({ status: 'canceled' }));
}

/** So that those whose look fails do not keep all others from their turn. */
const LEAST_RECENTLY_SYNCED_FIRST = 'synced_at NULLS FIRST';

/** One that fails goes to the end of the line. */
async function tryApplyOrDefer(id: number, fetchChange: () => Promise<AccountChange | null>): Promise<boolean> {
  const isDone = await tryApply(fetchChange);
  if (!isDone) await Subscription.query().findById(id).patch({ synced_at: now() });
  return isDone;
}

/** Past due for too long: ended there, and so here. */
async function cancelPastDue(): Promise<void> {
  const lapsed = addMilliseconds(now(), -PAST_DUE_GRACE_DAYS * DAY_MS);
  const overdue = await Subscription.query()
    .where({ status: 'past_due' })
    .where('past_due_since', '<=', lapsed)
    .orderByRaw(LEAST_RECENTLY_SYNCED_FIRST)
    .limit(BATCH_SIZE);
  for (const { id: rowId, stripe_subscription_id: id } of overdue) {
    // It may have been paid, and nobody has told us.
    const isSynced = await tryApplyOrDefer(rowId, () => fetchSubscriptionChange(id as string));
    const current = await Subscription.query().findOne({ stripe_subscription_id: id, status: 'past_due' });
    const isOver = current?.past_due_since != null && current.past_due_since <= lapsed;
    if (!isSynced || !isOver) continue;
    await tryApplyOrDefer(rowId, async () => {
      // A bank may be at it still.
      if (await processor.isPaymentProcessing(id as string)) return null;
      await processor.cancelSubscription(id as string);
      return fetchSubscriptionChange(id as string);
    });
  }
}

/** Renewed or ended, and nobody has told us. */
async function syncLapsed(): Promise<void> {
  const lapsed = await Subscription.query()
    .where({ status: 'active' })
    .whereNotNull('stripe_subscription_id')
    .where('current_period_end', '<=', now())
    .where((stale) => {
      void stale.whereNull('synced_at').orWhere('synced_at', '<=', addMilliseconds(now(), -RESYNC_INTERVAL_MS));
    })
    .orderByRaw(LEAST_RECENTLY_SYNCED_FIRST)
    .limit(BATCH_SIZE);
  for (const { id, stripe_subscription_id: stripeId } of lapsed) {
    await tryApplyOrDefer(id, () => fetchSubscriptionChange(stripeId as string));
  }
}
