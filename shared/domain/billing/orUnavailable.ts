import { ProcessorError } from '../../gateways/payments/index.ts';
import { logger } from '../../lib/logger.ts';
import { ServiceError } from '../../spec/errors.ts';

/** What the processor answers; while it cannot be asked, the request may be sent again. What it refuses is thrown on. */
export async function orUnavailable<Result>(answer: Promise<Result>): Promise<Result> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof ProcessorError) || error.fault === 'refused') throw error;
    logger.error({ error: error.message }, 'the payment processor cannot be asked');
    throw new ServiceError('internal_error', 'Payments cannot be made at the moment. Try again in a minute.', {
      status: 503,
      headers: { 'retry-after': '60' },
    });
  }
}
