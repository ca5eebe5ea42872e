import { processor } from '../../gateways/payments/index.ts';
import { logger } from '../../lib/logger.ts';
import { Account } from '../../tables/Account.ts';
import { Subscription } from '../../tables/Subscription.ts';
import {
  type AccountSnapshot,
  buildUnresolved,
  findCustomerAccount,
  nextSyncVersion,
} from '../payments/accountSnapshot.ts';
import { applyMissingSubscription, applySubscriptionState } from './applySubscription.ts';
import { changeSubscription } from './recordSubscriptionChange.ts';
import { resolveReversals } from './returnedPayments.ts';

const UNKNOWN_PRICE = 'The price of the subscription is not in STRIPE_PRICE_*.';

/**
 * Reads a subscription at the processor, after the consequences of returned payments there. The whole state is read
 * each time, whatever the cause, so that the order of events and their repetition do not matter.
 * @param isOtherSynced true if the account's other live subscription was synced just before this one.
 * @returns null if the subscription does not belong to an account of this service.
 */
export async function fetchSubscription(
  subscriptionId: string,
  isOtherSynced = false,
): Promise<AccountSnapshot | null> {
  const syncVersion = await nextSyncVersion();
  const known = await Subscription.query().findOne({ stripe_subscription_id: subscriptionId });
  const fetched = await processor.readSubscription(subscriptionId);
  if (fetched === null) {
    if (known === undefined || processor.isSimulated) return null;
    const { id, account_id: accountId } = known;
    logger.error({ subscriptionId, accountId }, 'subscription not found at the processor');
    return {
      accountId,
      problem: null,
      apply: (transaction, owner) => applyMissingSubscription(transaction, owner, id, syncVersion),
    };
  }
  // A customer that was deleted and recreated at the processor has another id: a known subscription keeps its account.
  const account =
    known === undefined
      ? await findCustomerAccount({ ...fetched, isForPlan: fetched.plan !== null })
      : await Account.query().findById(known.account_id);
  if (account === undefined) return null;
  if (fetched.plan === null) {
    logger.error({ subscriptionId, accountId: account.id }, 'subscription has a price that belongs to no plan');
    if (known === undefined) return buildUnresolved(account.id, UNKNOWN_PRICE);
  }
  const resolution = await resolveReversals(fetched, account.deletion_requested_at !== null);
  const hasPaymentMethod = (await processor.findPaymentMethod(fetched.customerId)) !== null;
  const state = { ...resolution, syncVersion, hasPaymentMethod, isOtherSynced };
  return {
    accountId: account.id,
    problem: resolution.subscription.plan === null ? UNKNOWN_PRICE : null,
    apply: (transaction, owner) => applySubscriptionState(transaction, owner, state),
  };
}

/** Brings an account up to date with the state of a subscription at the processor. */
export async function syncSubscription(subscriptionId: string, isOtherSynced = false): Promise<void> {
  const snapshot = await fetchSubscription(subscriptionId, isOtherSynced);
  if (snapshot !== null) await changeSubscription(snapshot.accountId, snapshot.apply);
}
