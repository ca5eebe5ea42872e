import { processor } from '../../gateways/payments/index.ts';
import { now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import { getNextAttemptByAge } from '../../lib/retryBackoff.ts';
import { Subscription } from '../../tables/Subscription.ts';
import { logProcessorError, trySync } from '../payments/processorErrors.ts';
import { applyMissingSubscription, applySubscriptionSnapshot } from './applySubscription.ts';
import type { FollowUp } from './followUps.ts';
import { issueSubscriptionRefunds } from './invoiceRefunds.ts';
import { changeSubscription } from './recordSubscriptionChange.ts';
import { fetchSubscription, type SubscriptionSyncOptions } from './fetchSubscription.ts';
import { HOUR_MS } from '../../spec/durations.ts';

/** Brings an account up to date with the state of a subscription at the processor. */
export async function syncSubscription(subscriptionId: string, options: SubscriptionSyncOptions = {}): Promise<void> {
  const snapshot = await fetchSubscription(subscriptionId, options);
  if (snapshot === null || snapshot.kind === 'unresolved') return;
  const followUps = await changeSubscription(snapshot.accountId, async (transaction, account) => {
    if (snapshot.kind === 'subscription') return applySubscriptionSnapshot(transaction, account, snapshot);
    await applyMissingSubscription(transaction, account, snapshot);
    return [];
  });
  await runFollowUps(followUps);
}

/** Runs follow-ups right after the commit that recorded them. An error is logged: a sweep retries. */
export async function runFollowUps(followUps: FollowUp[]): Promise<void> {
  try {
    for (const followUp of followUps) await runFollowUp(followUp);
  } catch (err) {
    const accountId = followUps[0]?.subscription.account_id;
    logProcessorError(err, { accountId }, 'follow-up of a subscription failed; sweep will retry');
  }
}

/** Runs a follow-up at the processor. May be repeated at any time: the sync that comes last records its outcome. */
async function runFollowUp({ action, subscription }: FollowUp): Promise<void> {
  if (action === 'issueRefunds') return issueSubscriptionRefunds(subscription);
  const { id, account_id: accountId } = subscription;
  const subscriptionId = subscription.stripe_subscription_id as string;
  if (action === 'resolve') {
    const other = await Subscription.query().modify('live').where({ account_id: accountId }).whereNot({ id }).first();
    if (other?.stripe_subscription_id != null) await syncSubscription(other.stripe_subscription_id);
    return syncSubscription(subscriptionId, { isOtherSynced: true });
  }
  if (action === 'refund') logger.warn({ accountId, subscriptionId }, 'second subscription canceled and refunded');
  await processor.cancelSubscription(subscriptionId);
  await syncSubscription(subscriptionId);
}

const BATCH_SIZE = 200;
const RETRY_BACKOFF = { minMs: 30_000, maxMs: HOUR_MS };

/** Runs follow-ups that are due: a process died, or the processor was unavailable. */
export async function runDueFollowUps(): Promise<void> {
  if (processor.isSimulated) return;
  const due = await Subscription.query()
    .where('follow_up_next_attempt_at', '<=', now())
    .orderBy('follow_up_next_attempt_at')
    .limit(BATCH_SIZE);
  for (const subscription of due) {
    await Subscription.query()
      .findById(subscription.id)
      .whereNotNull('follow_up_next_attempt_at')
      .patch({ follow_up_next_attempt_at: getNextAttemptByAge(subscription.follow_up_at ?? now(), RETRY_BACKOFF) });
    await trySync(() => runFollowUp({ action: subscription.follow_up ?? 'cancel', subscription }));
  }
}
