import { randomUUID } from 'node:crypto';
import type { Transaction } from 'objection';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { readSqlFunction } from '../../lib/database/sqlFunctions.ts';
import { perService } from '../../lib/serviceScope.ts';
import { WEBHOOK_ATTEMPTS_STORED } from '../../spec/webhookDelivery.ts';
import type { DeliveryAttempt, WebhookDelivery } from '../../tables/WebhookDelivery.ts';
import type { WebhookEndpoint } from '../../tables/WebhookEndpoint.ts';
import type { StoredKeys } from './signingKeys.ts';

/**
 * A delivery that this process attempts, with its message and the present address and keys of its endpoint. If the
 * process ends, the lease expires, and another one delivers again what was not recorded.
 */
export interface LeasedDelivery
  extends Omit<StoredKeys, 'uuid'>,
    Pick<WebhookDelivery, 'id' | 'endpoint_id' | 'url' | 'attempts'>,
    Pick<WebhookEndpoint, 'account_id' | 'failing_since'> {
  /** Differs between leases of this process. */
  leased_until: Date;
  /** Number of attempts in flight to the endpoint at a time. */
  allowed: number;
  endpoint_uuid: string;
  /** Null: the default endpoint. The delivery has an address of its own. */
  endpoint_url: string | null;
  event_uuid: string;
  body: string;
  recorded_at: Date;
}

type Lease = Pick<LeasedDelivery, 'id' | 'endpoint_id' | 'leased_until'>;

/** State of a delivery after an attempt, with the lease under which it was made. */
export interface DeliveryOutcome extends Lease, Pick<WebhookDelivery, 'status' | 'next_attempt_at'> {
  attempt: DeliveryAttempt;
}

/** Lease that ends without an attempt that counts. The delivery is due as before. */
export interface ReleasedDelivery extends Lease {
  attempt: null;
}

export interface ClaimLimits {
  /** Numbers of endpoints that may get attempts: healthy ones, and those whose last attempt failed. */
  healthy: number;
  failing: number;
  /** Attempts in flight to one endpoint, at most. */
  concurrency: number;
}

/** Longer than an attempt and the wait for its start. */
const LEASE_MS = 30_000;
/** An attempt after this time is slow: until it ends, its endpoint gets few further ones. */
const SLOW_MS = 1_000;
/** After attempts that took no longer, deliveries are leased in advance. Theirs then start soon. */
const QUICK_MS = 100;
/** Deliveries that are leased then, for each attempt that may be in flight. */
const LEASES_AHEAD = 4;

export const RECORD_AND_CLAIM = readSqlFunction(new URL('./recordAndClaim.sql', import.meta.url));

const CALL_RECORD_AND_CLAIM = prepared(
  'record_and_claim_deliveries',
  `SELECT * FROM ${RECORD_AND_CLAIM.installedName}(
     :outcomes, :ids, :endpoints, :healthy, :failing, :concurrency, ${LEASES_AHEAD},
     ${WEBHOOK_ATTEMPTS_STORED}, ${QUICK_MS}, :now, :process, :leasedUntil, :slowUntil)`,
);

const getProcess = perService(randomUUID);

type ClaimedRow = Omit<LeasedDelivery, 'leased_until'>;
type Row =
  | { is_recorded: true; id: number }
  | ({ is_recorded: false; id: null } & Pick<ClaimedRow, 'endpoint_id' | 'failing_since'>)
  | ({ is_recorded: false } & ClaimedRow);

/** Result of a call. */
export interface Claim {
  /** Ids of the outcomes that were recorded. The others' deliveries are no longer leased to the caller. */
  recorded: Set<number>;
  /** In the order in which they became due. */
  leased: LeasedDelivery[];
  /** True if as many endpoints were due as the limits allow: there may be more. */
  mayHaveMore: boolean;
}

/** Records outcomes of attempts, once each, and leases deliveries that are due. */
export async function recordAndClaim(
  outcomes: readonly (DeliveryOutcome | ReleasedDelivery)[],
  { healthy, failing, concurrency }: ClaimLimits,
  transaction?: Transaction,
): Promise<Claim> {
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
      concurrency,
      now: at,
      process: getProcess(),
      leasedUntil,
      slowUntil: addMilliseconds(leasedUntil, -SLOW_MS),
    },
    transaction,
  );
  const recorded = new Set<number>();
  const leased: LeasedDelivery[] = [];
  const due = { healthy: new Set<number>(), failing: new Set<number>() };
  for (const row of rows) {
    if (row.is_recorded) {
      recorded.add(row.id);
      continue;
    }
    due[row.failing_since === null ? 'healthy' : 'failing'].add(row.endpoint_id);
    if (row.id !== null) leased.push({ ...row, leased_until: leasedUntil });
  }
  return {
    recorded,
    leased,
    mayHaveMore: isReached(healthy, due.healthy.size) || isReached(failing, due.failing.size),
  };
}

const isReached = (limit: number, count: number): boolean => limit > 0 && count >= limit;
