import { DAY_MS, HOUR_MS, MINUTE_MS } from './durations.ts';

/** Limits of the delivery of webhooks (docs/webhooks.md). */

/** Time limit of an attempt, from the resolution of the name to the status of the response. */
export const WEBHOOK_ATTEMPT_TIMEOUT_MS = 15_000;

/** Wait after each failed attempt of a delivery. After the last one the delivery has failed. */
export const WEBHOOK_RETRY_DELAYS_MS = [
  5_000,
  5 * MINUTE_MS,
  30 * MINUTE_MS,
  2 * HOUR_MS,
  5 * HOUR_MS,
  10 * HOUR_MS,
  14 * HOUR_MS,
  20 * HOUR_MS,
  24 * HOUR_MS,
] as const;

/**
 * Share of a wait by which it is extended at random, so that retries after an outage do not come at the same moment.
 */
export const WEBHOOK_RETRY_JITTER = 0.1;

/** Longest wait that a `Retry-After` of the receiver may ask for. */
export const WEBHOOK_RETRY_AFTER_MAX_MS = DAY_MS;

/** Number of attempts of a delivery that are stored. A delivery that is started again may have more. */
export const WEBHOOK_ATTEMPTS_STORED = 20;

/** Number of bytes of each response that are stored. */
export const WEBHOOK_RESPONSE_STORED_BYTES = 1_024;

/** An endpoint is disabled when all of its attempts failed for this long. */
export const WEBHOOK_FAILING_MAX_MS = 5 * DAY_MS;

/** Number of attempts in flight to one endpoint. One that fails gets one at a time. */
export const WEBHOOK_CONCURRENCY = 8;
