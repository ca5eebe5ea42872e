import { processor } from '../../gateways/payments/index.ts';
import { logger } from '../../lib/logger.ts';

/**
 * Gives back what a subscription brought in that an account has no use for, as it has another, and ends it. In this
 * order: what cannot be given back now stays alive, and is come back to by the reconciler. Either may have been done.
 */
export async function turnDown(accountId: number, subscriptionId: string): Promise<void> {
  logger.warn({ accountId, subscriptionId }, 'a second subscription of an account is refunded and ended');
  await processor.refundSubscription(subscriptionId);
  await processor.cancelSubscription(subscriptionId);
}
