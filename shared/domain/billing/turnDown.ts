import { ProcessorError, requireProcessor } from '../../gateways/payments/index.ts';
import { logger } from '../../lib/logger.ts';

/**
 * Ends a subscription that an account has no use for, as it has another, and gives back what it brought in. Either may
 * have been done before: the reconciler repeats what a crash has cut short.
 */
export async function turnDown(subscriptionId: string): Promise<void> {
  const processor = requireProcessor();
  logger.warn({ subscriptionId }, 'a second subscription of an account is refunded and ended');
  try {
    await processor.refundSubscription(subscriptionId);
  } catch (error) {
    if (!(error instanceof ProcessorError) || error.fault !== 'refused') throw error;
    // Such as one that is disputed: its money goes back another way.
    logger.error({ subscriptionId, error: error.message }, 'a second subscription could not be refunded');
  }
  await processor.cancelSubscription(subscriptionId);
}
