import { ProcessorError } from '../../gateways/payments/index.ts';
import { logger } from '../../lib/logger.ts';
import { ServiceError } from '../../spec/errors.ts';

/**
 * What the processor answers; while it cannot be asked, the request may be sent again.
 * @param refusal what is said where the processor refuses something that no caller can mend, but the operator;
 * without it, what it refuses is thrown on.
 */
export async function orUnavailable<Result>(answer: Promise<Result>, refusal?: string): Promise<Result> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof ProcessorError) || (error.fault === 'refused' && refusal === undefined)) throw error;
    const isRefused = error.fault === 'refused';
    logger.error({ error: error.message }, `the payment processor ${isRefused ? 'refuses' : 'cannot be asked'}`);
    const away = 'Payments cannot be made at the moment. Try again in a minute.';
    throw new ServiceError('internal_error', isRefused ? (refusal as string) : away, {
      status: 503,
      headers: { 'retry-after': '60' },
    });
  }
}
