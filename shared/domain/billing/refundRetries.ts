import { ProcessorError } from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import { getBackoffMs } from '../../lib/retryBackoff.ts';
import { DAY_MS, HOUR_MS } from '../../spec/durations.ts';

/*
 * Retries of the sweeps for owed refunds of invoices and of top-ups. `attempts` includes the one that has just ended; the
 * results are columns of the owed refund.
 */

/** Refunds that a sweep issues in one run. */
export const REFUND_BATCH_SIZE = 200;
const BACKOFF = { minMs: 30_000, maxMs: HOUR_MS };

interface RefundRetry {
  attempts: number;
  last_error: string;
  next_attempt_at: Date;
}

/** Repeats an attempt soon, and later each time. */
export function buildRefundRetry(attempts: number, reason: string): RefundRetry {
  const waitMs = getBackoffMs(attempts - 1, BACKOFF);
  return { attempts, last_error: reason.slice(0, 500), next_attempt_at: addMilliseconds(now(), waitMs) };
}

/** Waits for the end of a dispute, which is looked for each day. */
export function buildDisputedRefundRetry(attempts: number): RefundRetry {
  return {
    attempts,
    last_error: 'A dispute is open. Its outcome decides whether anything is left to refund.',
    next_attempt_at: addMilliseconds(now(), DAY_MS),
  };
}

/** Logs the error of an attempt and repeats it. */
export function buildFailedRefundRetry(attempts: number, err: unknown, fields: object): RefundRetry {
  const isUnavailable = err instanceof ProcessorError && err.fault === 'unavailable';
  logger[isUnavailable ? 'warn' : 'error']({ err, ...fields }, 'refund failed; sweep will retry');
  return buildRefundRetry(attempts, (err as Error).message);
}
