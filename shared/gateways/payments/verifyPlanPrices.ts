import { ConfigError } from '../../lib/config.ts';
import { logger } from '../../lib/logger.ts';
import { processor, ProcessorError } from './index.ts';

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
