import { processor } from '../../gateways/payments/index.ts';
import { logger } from '../../lib/logger.ts';
import { Account } from '../../tables/Account.ts';
import { Subscription } from '../../tables/Subscription.ts';
import {
  type AccountSnapshot,
  findCustomerAccount,
  nextSyncVersion,
  type UnresolvedSnapshot,
} from '../payments/accountSnapshot.ts';
import { type ReversalResolution, resolveReversals } from './returnedPayments.ts';

/** The state of a subscription at the processor, including its refunds and disputes. */
export interface SubscriptionSnapshot extends AccountSnapshot, ReversalResolution {
  kind: 'subscription';
  syncVersion: number;
  hasPaymentMethod: boolean;
  /** True if the account's other live subscription was synced just before this one. */
  isOtherSynced: boolean;
}

/** A subscription that the processor no longer has. */
export interface MissingSubscriptionSnapshot extends AccountSnapshot {
  kind: 'missingSubscription';
  subscriptionRowId: number;
  syncVersion: number;
}

const UNKNOWN_PRICE = 'The price of the subscription is not in STRIPE_PRICE_*.';

export interface SubscriptionSyncOptions {
  isOtherSynced?: boolean;
}

/**
 * Reads a subscription at the processor, after the consequences of returned payments there. The whole state is read
 * each time, whatever the cause, so that the order of events and their repetition do not matter.
 * @returns null if the subscription does not belong to an account of this service.
 */
export async function fetchSubscription(
  subscriptionId: string,
  options: SubscriptionSyncOptions = {},
): Promise<SubscriptionSnapshot | MissingSubscriptionSnapshot | UnresolvedSnapshot | null> {
  const syncVersion = await nextSyncVersion();
  const known = await Subscription.query().findOne({ stripe_subscription_id: subscriptionId });
  const fetched = await processor.readSubscription(subscriptionId);
  if (fetched === null) {
    if (known === undefined || processor.isSimulated) return null;
    const { id, account_id: accountId } = known;
    logger.error({ subscriptionId, accountId }, 'subscription not found at the processor');
    return { kind: 'missingSubscription', accountId, problem: null, subscriptionRowId: id, syncVersion };
  }
  // A customer that was deleted and recreated at the processor has another id: a known subscription keeps its account.
  const account =
    known === undefined
      ? await findCustomerAccount({ ...fetched, isForPlan: fetched.plan !== null })
      : await Account.query().findById(known.account_id);
  if (account === undefined) return null;
  if (fetched.plan === null) {
    logger.error({ subscriptionId, accountId: account.id }, 'subscription has a price that belongs to no plan');
    if (known === undefined) return { kind: 'unresolved', accountId: account.id, problem: UNKNOWN_PRICE };
  }
  const resolution = await resolveReversals(fetched, account.deletion_requested_at !== null);
  return {
    ...resolution,
    kind: 'subscription',
    accountId: account.id,
    problem: resolution.subscription.plan === null ? UNKNOWN_PRICE : null,
    syncVersion,
    hasPaymentMethod: (await processor.findPaymentMethod(fetched.customerId)) !== null,
    isOtherSynced: options.isOtherSynced === true,
  };
}
