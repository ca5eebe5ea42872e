import { applyMissingSubscription, applySubscriptionSnapshot } from './applySubscription.ts';
import { fetchSubscription, type SubscriptionSyncOptions } from './fetchSubscription.ts';
import { changeSubscription } from './recordSubscriptionChange.ts';

/** Brings an account up to date with the state of a subscription at the processor. */
export async function syncSubscription(subscriptionId: string, options: SubscriptionSyncOptions = {}): Promise<void> {
  const snapshot = await fetchSubscription(subscriptionId, options);
  if (snapshot === null || snapshot.kind === 'unresolved') return;
  await changeSubscription(snapshot.accountId, (transaction, account) =>
    snapshot.kind === 'subscription'
      ? applySubscriptionSnapshot(transaction, account, snapshot)
      : applyMissingSubscription(transaction, account, snapshot),
  );
}
