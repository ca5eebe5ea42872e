import { ProcessorError } from '../../gateways/payments/index.ts';
import { logger } from '../../lib/logger.ts';
import { ServiceError } from '../../spec/errors.ts';

/**
 * Turns errors of the payment processor into errors that a client may retry.
 * @param rejectionDetail the detail for a rejection that only the operator can fix. Without it, rejections are
 *   rethrown.
 * @throws ServiceError internal_error (503)
 */
export async function mapProcessorErrors<Result>(request: Promise<Result>, rejectionDetail?: string): Promise<Result> {
  try {
    return await request;
  } catch (err) {
    if (!(err instanceof ProcessorError) || (err.fault === 'rejected' && rejectionDetail === undefined)) throw err;
    const isRejected = err.fault === 'rejected';
    logger.error({ err }, isRejected ? 'payment processor rejected a request' : 'payment processor unavailable');
    const unavailableDetail = 'Payments are not available at the moment. Try again in a minute.';
    throw new ServiceError('internal_error', isRejected ? (rejectionDetail as string) : unavailableDetail, {
      retryAfterSeconds: 60,
    });
  }
}

/**
 * Runs one item of a sweep and logs its error, so that the next items run too.
 * @returns whether it succeeded.
 */
export async function trySync(sync: () => Promise<unknown>): Promise<boolean> {
  try {
    await sync();
    return true;
  } catch (err) {
    logProcessorError(err, {}, 'sync with the payment processor failed; sweep will retry');
    return false;
  }
}

/** Logs a warning for an error of the processor, which retries survive, and an error for everything else. */
export function logProcessorError(err: unknown, fields: object, message: string): void {
  logger[err instanceof ProcessorError ? 'warn' : 'error']({ err, ...fields }, message);
}
