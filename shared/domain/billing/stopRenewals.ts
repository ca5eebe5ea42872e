import type { Transaction } from 'objection';
import { processor } from '../../gateways/payments/index.ts';
import { Subscription } from '../../tables/Subscription.ts';
import { changeSubscription } from './recordSubscriptionChange.ts';
import { endSubscription } from './subscriptions.ts';
import { isYearPaid } from './subscriptionStatus.ts';
import { syncSubscription } from './syncSubscription.ts';

/** Finds the subscription of an account that would renew. */
export async function findRenewingSubscription(
  accountId: number,
  transaction: Transaction,
): Promise<Subscription | undefined> {
  return Subscription.query(transaction)
    .where({ account_id: accountId, cancel_at_period_end: false })
    .where((paid) => {
      void paid.where({ status: 'active' }).orWhere((disputed) => {
        void disputed.where({ status: 'unpaid' }).whereNotNull('disputed_charge_id');
      });
    })
    .whereNotNull('stripe_subscription_id')
    .first();
}

function listOpenSubscriptions(accountId: number): Promise<Subscription[]> {
  return Subscription.query().where({ account_id: accountId }).whereNot({ status: 'canceled' }).orderBy('id').execute();
}

/**
 * Brings the open subscriptions of an account up to date with the processor.
 * @returns those that are still open.
 * @throws ProcessorError
 */
export async function syncOpenSubscriptions(accountId: number): Promise<Subscription[]> {
  for (const { stripe_subscription_id: id } of await listOpenSubscriptions(accountId))
    if (id !== null) await syncSubscription(id);
  return listOpenSubscriptions(accountId);
}

/**
 * Stops all payments of an account: its subscription ends with the paid year, and one whose year is not paid ends right
 * away, as its next payment would be for another year. May be repeated.
 * @throws ProcessorError
 */
export async function stopRenewals(accountId: number): Promise<void> {
  // A subscription that has just been renewed is active at the processor, although its invoice is still a draft.
  for (const subscription of await syncOpenSubscriptions(accountId)) {
    const { stripe_subscription_id: id } = subscription;
    if (id === null) continue;
    if (!isYearPaid(subscription)) await processor.cancelSubscription(id);
    else if (!subscription.cancel_at_period_end) await processor.setCancelAtPeriodEnd(id, true);
    else continue;
    await syncSubscription(id);
  }
}

/**
 * Resumes the renewal of a subscription, if it has not ended. May be repeated.
 * @throws ProcessorError
 */
export async function resumeRenewal(subscriptionRowId: number): Promise<void> {
  const { stripe_subscription_id: id } = await Subscription.query().findById(subscriptionRowId).throwIfNotFound();
  if (id === null) return;
  // It may have ended without an event.
  await syncSubscription(id);
  const current = await Subscription.query().findById(subscriptionRowId).throwIfNotFound();
  if (current.status === 'canceled' || !current.cancel_at_period_end) return;
  await processor.setCancelAtPeriodEnd(id, false);
  await syncSubscription(id);
}

/**
 * Ends all subscriptions of an account now. May be repeated.
 * @throws ProcessorError
 */
export async function endAllSubscriptions(accountId: number): Promise<void> {
  for (const { id: rowId, stripe_subscription_id: id } of await listOpenSubscriptions(accountId)) {
    if (id !== null) {
      await processor.cancelSubscription(id);
      await syncSubscription(id);
    }
    // A simulated subscription, or one that the processor no longer has: nothing else ends it.
    if (id === null || (await processor.readSubscription(id)) === null) await endSubscriptionRow(accountId, rowId);
  }
  const [open] = await listOpenSubscriptions(accountId);
  if (open !== undefined) throw new Error(`Subscription ${open.id} is ${open.status} after it was canceled.`);
}

/** Ends a subscription that the processor does not have, and expires its plan credits. */
export async function endSubscriptionRow(accountId: number, rowId: number): Promise<void> {
  await changeSubscription(accountId, async (transaction, account) => {
    const open = await Subscription.query(transaction).findById(rowId).whereNot({ status: 'canceled' });
    if (open !== undefined) await endSubscription(transaction, account, open);
  });
}
