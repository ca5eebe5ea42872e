import { processor } from '../../gateways/payments/index.ts';
import { logger } from '../../lib/logger.ts';
import { Subscription } from '../../tables/Subscription.ts';
import type { TaskKind } from '../tasks/taskKind.ts';
import { PROCESSOR_TASK, FOLLOW_UP_KIND, withProcessor } from './processorTasks.ts';
import { syncSubscription } from './syncSubscription.ts';

type FollowUp = NonNullable<Subscription['follow_up']>;

/**
 * Makes the call at the processor that a sync has recorded in `follow_up` of a subscription, whose id here is the key.
 * - `resolve`: find out which of two live subscriptions stays.
 * - `cancel`: end a subscription that another one has replaced.
 * - `refund`: end a second subscription, whose payments are then owed to the customer.
 */
export const FOLLOW_UP: TaskKind = {
  ...PROCESSOR_TASK,
  name: FOLLOW_UP_KIND,
  waiting: `SELECT account_id, cast(id AS text) AS key FROM subscriptions WHERE follow_up IS NOT NULL AND status <> 'canceled'`,
  run: withProcessor(async ({ key }) => {
    for (let done: FollowUp | null = null; ; ) {
      const subscription = await Subscription.query().findById(Number(key)).throwIfNotFound();
      const { follow_up: followUp, status } = subscription;
      if (followUp === null || status === 'canceled') return undefined;
      // The sync that comes last records the outcome, and may ask for another step.
      if (followUp === done) throw new Error(`The subscription is ${status} after its follow-up "${followUp}".`);
      await followUpOn(subscription, followUp);
      done = followUp;
    }
  }),
};

async function followUpOn(subscription: Subscription, followUp: FollowUp): Promise<void> {
  const { id, account_id: accountId } = subscription;
  const subscriptionId = subscription.stripe_subscription_id as string;
  if (followUp === 'resolve') {
    const other = await Subscription.query().modify('live').where({ account_id: accountId }).whereNot({ id }).first();
    if (other?.stripe_subscription_id != null) await syncSubscription(other.stripe_subscription_id);
    return syncSubscription(subscriptionId, true);
  }
  if (followUp === 'refund') logger.warn({ accountId, subscriptionId }, 'second subscription canceled and refunded');
  await processor.cancelSubscription(subscriptionId);
  await syncSubscription(subscriptionId);
}
