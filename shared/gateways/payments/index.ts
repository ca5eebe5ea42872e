import { type Config, ConfigError } from '../../lib/config.ts';
import { logger } from '../../lib/logger.ts';
import { type PaymentProcessor, ProcessorError } from './paymentProcessor.ts';
import { simulatedProcessor } from './simulatedProcessor.ts';

export * from './paymentProcessor.ts';

/** The name of the payment processor in the API and in rows (docs/decisions.md: Billing). */
export const PROCESSOR_NAME = 'stripe';

/** The payment processor of this process. Set by `openPaymentProcessor`, and not readable before. */
export let processor: PaymentProcessor;

/**
 * Sets the payment processor: Stripe, or a simulated one if STRIPE_SECRET_KEY is not set. The configuration rejects the
 * latter with NODE_ENV=production.
 */
export async function openPaymentProcessor(config: Config): Promise<void> {
  // Stripe's library is loaded only where it is used.
  processor =
    config.STRIPE_SECRET_KEY === undefined
      ? simulatedProcessor
      : (await import('./stripeProcessor.ts')).openStripeProcessor(config);
}

/** Compares the prices of the plans with those at the processor. @throws ConfigError if one is wrong; ProcessorError */
export async function verifyPlanPrices(): Promise<void> {
  const problem = await processor.findPlanPriceProblem();
  if (problem !== null) throw new ConfigError(problem);
}

/**
 * Checks the prices of the plans at the start. A processor that does not respond does not prevent the start: the hourly
 * reconciliation checks them again.
 * @throws ConfigError if one is wrong.
 */
export async function verifyPlanPricesAtStart(): Promise<void> {
  try {
    await verifyPlanPrices();
  } catch (err) {
    if (!(err instanceof ProcessorError)) throw err;
    logger.warn({ err }, 'prices of plans not checked; payments.reconcile will check them');
  }
}
