import type { AttemptResult } from '../../gateways/webhooks/postWebhook.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { WEBHOOK_RETRY_DELAYS_MS, WEBHOOK_RETRY_JITTER } from '../../spec/webhookDelivery.ts';
import type { DeliveryAttempt } from '../../tables/WebhookDelivery.ts';
import type { DeliveryOutcome, LeasedDelivery } from './recordAndClaim.ts';

/** An attempt that has ended, with its result. */
export interface SentAttempt extends AttemptResult {
  sentAt: Date;
  durationMs: number;
  /** `webhook-signature`; null if nothing was sent. */
  signature: string | null;
}

/** A receiver that answers so does not want any further message. */
export const GONE = 410;

/** Computes the state of a delivery after an attempt: delivered, to be retried, or failed. */
export function toOutcome(delivery: LeasedDelivery, sent: SentAttempt): DeliveryOutcome {
  const { id, endpoint_id, leased_until } = delivery;
  const attempt = toStoredAttempt(sent);
  const common = { id, endpoint_id, leased_until, attempt };
  if (attempt.error === null) return { ...common, status: 'succeeded', next_attempt_at: null };
  const waitMs = sent.status === GONE ? undefined : getRetryDelayMs(delivery.attempts, sent.retryAfterMs);
  if (waitMs === undefined) return { ...common, status: 'failed', next_attempt_at: null };
  return { ...common, status: 'pending', next_attempt_at: addMilliseconds(now(), waitMs) };
}

function toStoredAttempt({ sentAt, durationMs, status, error, signature, responseBody }: SentAttempt): DeliveryAttempt {
  return {
    sent_at: sentAt.toISOString(),
    duration_ms: durationMs,
    status,
    error: error ?? null,
    signature,
    response_body: responseBody ?? null,
    response_is_binary: responseBody === null,
  };
}

/**
 * Returns the wait before the next attempt; undefined if there is none.
 * @param earlierFailures failed attempts before this one.
 * @param retryAfterMs wait that the receiver asks for. A shorter one than ours has no effect.
 */
function getRetryDelayMs(earlierFailures: number, retryAfterMs = 0): number | undefined {
  const delayMs = WEBHOOK_RETRY_DELAYS_MS[earlierFailures];
  if (delayMs === undefined) return undefined;
  return Math.max(retryAfterMs, delayMs * (1 + Math.random() * WEBHOOK_RETRY_JITTER));
}
