import type { Transaction } from 'objection';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { readSqlFunction } from '../../lib/database/sqlFunctions.ts';
import { WEBHOOK_ATTEMPTS_STORED, WEBHOOK_CONCURRENCY } from '../../spec/webhookDelivery.ts';
import type { DeliveryAttempt, WebhookDelivery } from '../../tables/WebhookDelivery.ts';
import type { WebhookEndpoint } from '../../tables/WebhookEndpoint.ts';
import type { StoredKeys } from './signingKeys.ts';

/**
 * A delivery that this process attempts, with its message and the present address and keys of its endpoint. If the process
 * ends, the lease expires, and another one delivers again what was not recorded.
 */
export interface LeasedDelivery
  extends Omit<StoredKeys, 'uuid'>,
    Pick<WebhookDelivery, 'id' | 'endpoint_id' | 'url' | 'attempts'>,
    Pick<WebhookEndpoint, 'account_id' | 'failing_since'> {
  /** Fencing token of the outcome: leases of a delivery end at different times. */
  leased_until: Date;
  endpoint_uuid: string;
  /** Null: the default endpoint. The delivery has an address of its own. */
  endpoint_url: string | null;
  event_uuid: string;
  body: string;
  recorded_at: Date;
}

/** State of a delivery after an attempt, with the lease under which it was made. */
export interface DeliveryOutcome extends Pick<WebhookDelivery, 'id' | 'endpoint_id' | 'status' | 'next_attempt_at'> {
  leased_until: Date;
  attempt: DeliveryAttempt;
}

/** Numbers of endpoints that may get attempts: healthy ones, and those whose last attempt failed. */
export interface ClaimLimits {
  healthy: number;
  failing: number;
}

/** Longer than an attempt. */
const LEASE_MS = 30_000;
/** An attempt after this time is slow: until it ends, its endpoint gets few further ones. */
const SLOW_MS = 1_000;

export const RECORD_AND_CLAIM = readSqlFunction(new URL('./recordAndClaim.sql', import.meta.url));

const CALL_RECORD_AND_CLAIM = prepared(
  'record_and_claim_deliveries',
  `SELECT * FROM ${RECORD_AND_CLAIM.installedName}(
     :outcomes, :ids, :endpoints, :healthy, :failing, ${WEBHOOK_CONCURRENCY}, ${WEBHOOK_ATTEMPTS_STORED},
     :now, :leasedUntil, :slowUntil)`,
);

type Row = { is_recorded: true; id: number } | { is_recorded: false; id: null } | (ClaimedRow & { is_recorded: false });
type ClaimedRow = Omit<LeasedDelivery, 'leased_until'>;

/**
 * Records outcomes of attempts, once each, and leases deliveries that are due.
 * @returns ids of the outcomes that were recorded: the others' deliveries are no longer leased to the caller; the leased
 *   deliveries, in the order in which they became due; and whether an endpoint was due.
 */
export async function recordAndClaim(
  outcomes: readonly DeliveryOutcome[],
  { healthy, failing }: ClaimLimits,
  transaction?: Transaction,
): Promise<{ recorded: Set<number>; leased: LeasedDelivery[]; wasDue: boolean }> {
  const at = now();
  const leasedUntil = addMilliseconds(at, LEASE_MS);
  const rows = await runStatement<Row>(
    CALL_RECORD_AND_CLAIM,
    {
      outcomes: JSON.stringify(outcomes),
      ids: outcomes.map(({ id }) => id),
      endpoints: [...new Set(outcomes.map(({ endpoint_id: id }) => id))],
      healthy,
      failing,
      now: at,
      leasedUntil,
      slowUntil: addMilliseconds(leasedUntil, -SLOW_MS),
    },
    transaction,
  );
  const recorded = new Set<number>();
  const leased: LeasedDelivery[] = [];
  for (const row of rows) {
    if (row.is_recorded) recorded.add(row.id);
    else if (row.id !== null) leased.push({ ...row, leased_until: leasedUntil });
  }
  return { recorded, leased, wasDue: rows.length > recorded.size };
}

// The endpoint is locked before the delivery, as everywhere.
const RELEASE_DELIVERY = prepared(
  'release_webhook_delivery',
  `WITH endpoint AS (
     UPDATE webhook_endpoints SET next_delivery_at = :now WHERE id = :endpointId AND disabled_at IS NULL RETURNING id
   )
   UPDATE webhook_deliveries d SET leased_until = NULL
     FROM endpoint WHERE d.id = :id AND d.endpoint_id = endpoint.id AND d.leased_until = :lease`,
);

/** Ends the lease of a delivery whose attempt was given up, so that another process attempts it at once. */
export async function releaseDelivery({
  id,
  endpoint_id: endpointId,
  leased_until: lease,
}: LeasedDelivery): Promise<void> {
  await runStatement(RELEASE_DELIVERY, { id, endpointId, lease, now: now() });
}
