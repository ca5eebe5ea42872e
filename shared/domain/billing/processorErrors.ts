import { ProcessorError } from '../../gateways/payments/index.ts';
import { logger } from '../../lib/logger.ts';
import { ServiceError } from '../../spec/errors.ts';

/**
 * What the processor answers; while it cannot be asked, the request may be sent again.
 * @param rejectionDetail what is said where the processor refuses something that no caller can mend, but the operator;
 * without it, what it refuses is thrown on.
 */
export async function mapProcessorErrors<Result>(request: Promise<Result>, rejectionDetail?: string): Promise<Result> {
  try {
    return await request;
  } catch (error) {
    if (!(error instanceof ProcessorError) || (error.fault === 'refused' && rejectionDetail === undefined)) throw error;
    const isRejected = error.fault === 'refused';
    logger.error({ error: error.message }, `the payment processor ${isRejected ? 'refuses' : 'cannot be asked'}`);
    const unavailableDetail = 'Payments cannot be made at the moment. Try again in a minute.';
    throw new ServiceError('internal_error', isRejected ? (rejectionDetail as string) : unavailableDetail, {
      retryAfterSeconds: 60,
    });
  }
}
