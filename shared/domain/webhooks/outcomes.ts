import type { Transaction } from 'objection';
import type { AttemptResult } from '../../gateways/webhooks/postWebhook.ts';
import { createBatcher } from '../../lib/batcher.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { isRejection } from '../../lib/database/errors.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { WEBHOOK_ATTEMPTS_STORED, WEBHOOK_RETRY_DELAYS_MS, WEBHOOK_RETRY_JITTER } from '../../spec/webhookDelivery.ts';
import type { DeliveryAttempt, WebhookDelivery } from '../../tables/WebhookDelivery.ts';
import type { DueDelivery } from './dueDeliveries.ts';
import type { EndpointLease } from './leases.ts';

/** An attempt that has ended, with its result. */
export interface SentAttempt extends AttemptResult {
  sentAt: Date;
  durationMs: number;
  /** `webhook-signature`; null if nothing was sent. */
  signature: string | null;
}

/** State of a delivery after an attempt. */
export interface DeliveryOutcome extends Pick<WebhookDelivery, 'id' | 'status' | 'next_attempt_at'> {
  endpoint_id: number;
  token: string;
  attempt: DeliveryAttempt;
}

/** A receiver that answers so does not want any further message. */
export const GONE = 410;

/** Computes the state of a delivery after an attempt: delivered, to be retried, or failed. */
export function toOutcome(lease: EndpointLease, delivery: DueDelivery, sent: SentAttempt): DeliveryOutcome {
  const attempt = toStoredAttempt(sent);
  const common = { id: delivery.id, endpoint_id: lease.id, token: lease.token, attempt };
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

/**
 * Records outcomes of deliveries whose endpoints are still leased to this process, and since when an endpoint fails.
 * Endpoints are locked before deliveries, as by their deletion. The arrays repeat ids of the outcomes: without them, the
 * planner estimates a hundred rows and scans the tables.
 */
const RECORD_OUTCOMES = prepared(
  'record_webhook_outcomes',
  `WITH outcome AS MATERIALIZED (
     SELECT * FROM json_to_recordset(:outcomes)
         AS o (id bigint, endpoint_id bigint, token uuid, status text, next_attempt_at timestamptz, attempt jsonb)
   ), result AS (
     SELECT endpoint_id, token, bool_or(status = 'succeeded') AS has_succeeded FROM outcome GROUP BY endpoint_id, token
   ), changed AS MATERIALIZED (
     SELECT e.id, result.has_succeeded
       FROM result JOIN webhook_endpoints e ON e.id = result.endpoint_id AND e.lease_token = result.token
      WHERE e.id = ANY (cast(:endpoints AS bigint[])) AND e.url IS NOT NULL
        AND (e.failing_since IS NOT NULL) = result.has_succeeded
      ORDER BY e.id
        FOR NO KEY UPDATE OF e
   ), failing AS (
     UPDATE webhook_endpoints e SET failing_since = CASE WHEN changed.has_succeeded THEN NULL ELSE cast(:now AS timestamptz) END
       FROM changed WHERE e.id = ANY (cast(:endpoints AS bigint[])) AND e.id = changed.id
   )
   UPDATE webhook_deliveries d
      SET status = outcome.status, attempts = d.attempts + 1, next_attempt_at = outcome.next_attempt_at,
          last_attempt_at = :now, last_status = cast(outcome.attempt ->> 'status' AS integer),
          last_error = outcome.attempt ->> 'error',
          attempt_log = CASE WHEN jsonb_array_length(d.attempt_log) < ${WEBHOOK_ATTEMPTS_STORED} THEN d.attempt_log
                             ELSE d.attempt_log - 0 END || outcome.attempt,
          delivered_at = CASE WHEN outcome.status = 'succeeded' THEN cast(:now AS timestamptz) END
     FROM outcome JOIN webhook_endpoints e ON e.id = outcome.endpoint_id AND e.lease_token = outcome.token
    WHERE d.id = ANY (cast(:ids AS bigint[])) AND e.id = ANY (cast(:endpoints AS bigint[]))
      AND d.id = outcome.id AND d.endpoint_id = outcome.endpoint_id AND d.status = 'pending'
      AND (SELECT count(*) FROM changed) >= 0
   RETURNING d.id`,
);

/** Records outcomes in a transaction. @returns the deliveries whose outcome was recorded. */
export async function recordOutcomes(
  outcomes: readonly DeliveryOutcome[],
  transaction?: Transaction,
): Promise<Set<number>> {
  const bindings = {
    outcomes: JSON.stringify(outcomes),
    ids: outcomes.map(({ id }) => id),
    endpoints: [...new Set(outcomes.map(({ endpoint_id: id }) => id))],
    now: now(),
  };
  const rows = await runStatement<{ id: number }>(RECORD_OUTCOMES, bindings, transaction);
  return new Set(rows.map(({ id }) => id));
}

/**
 * Records an outcome, together with others of this process.
 * @returns false if the endpoint or the delivery is no longer ours: another worker delivers again.
 */
export const recordOutcome = createBatcher<DeliveryOutcome, boolean>({
  maxItems: 128,
  maxInFlight: 2,
  isItemError: isRejection,
  getKey: ({ id }) => id,
  run: async (outcomes) => {
    const recorded = await recordOutcomes(outcomes);
    return outcomes.map(({ id }) => recorded.has(id));
  },
});
