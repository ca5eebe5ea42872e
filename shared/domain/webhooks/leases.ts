import { randomUUID } from 'node:crypto';
import { createBatcher } from '../../lib/batcher.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { isRejection } from '../../lib/database/errors.ts';
import { db } from '../../lib/database/pool.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';

/**
 * Leases on endpoints. One worker at a time delivers to an endpoint; its token is the fencing token of everything that it
 * writes. If the worker dies, the lease expires and another one delivers again what was not recorded.
 */
export interface EndpointLease {
  id: number;
  token: string;
}

export interface ClaimedEndpoint extends EndpointLease {
  isFailing: boolean;
}

/** Longer than an attempt. Renewed while the endpoint is served. */
const LEASE_MS = 30_000;

// A leased endpoint is due again when its lease expires. It would otherwise be found, and skipped, by every claim: with many
// receivers that hang, that is most of the work. Endpoints whose last attempt failed are claimed apart, so that they never
// delay others. The array keeps the planner from scanning the table for an unknown limit.
const CLAIM_ENDPOINTS = prepared(
  'claim_webhook_endpoints',
  `UPDATE webhook_endpoints e SET leased_until = :until, lease_token = :token, next_delivery_at = :until
    WHERE e.id = ANY (ARRAY(
           SELECT id FROM webhook_endpoints
            WHERE next_delivery_at <= :now AND (failing_since IS NOT NULL) = cast(:isFailing AS boolean)
              AND (leased_until IS NULL OR leased_until <= :now)
              AND id <> ALL (cast(:served AS bigint[]))
            ORDER BY next_delivery_at
            LIMIT :limit
              FOR NO KEY UPDATE SKIP LOCKED))
   RETURNING e.id`,
);

const RENEW_LEASES = prepared(
  'renew_webhook_leases',
  `UPDATE webhook_endpoints e SET leased_until = :until, next_delivery_at = :until
     FROM (SELECT held.id
             FROM json_to_recordset(:leases) AS lease (id bigint, token uuid)
             JOIN webhook_endpoints held ON held.id = ANY (cast(:ids AS bigint[])) AND held.id = lease.id
                                        AND held.lease_token = lease.token
            ORDER BY held.id
              FOR NO KEY UPDATE OF held) mine
    WHERE e.id = ANY (cast(:ids AS bigint[])) AND e.id = mine.id
   RETURNING e.id`,
);

const LOCK_ENDPOINTS = prepared(
  'lock_webhook_endpoints',
  `SELECT id FROM webhook_endpoints WHERE id = ANY (cast(:ids AS bigint[])) ORDER BY id FOR NO KEY UPDATE`,
);

// A delivery that is due already makes the endpoint due at this moment and not at that of the delivery: the endpoints
// that wait are served in turn, however long their backlogs are.
const RELEASE_ENDPOINTS = prepared(
  'release_webhook_endpoints',
  `UPDATE webhook_endpoints e
      SET leased_until = NULL, lease_token = NULL,
          next_delivery_at = CASE WHEN pending.first_at IS NOT NULL THEN greatest(pending.first_at, :now) END
     FROM json_to_recordset(:leases) AS lease (id bigint, token uuid),
          LATERAL (SELECT min(d.next_attempt_at) AS first_at FROM webhook_deliveries d
                    WHERE d.endpoint_id = lease.id AND d.status = 'pending') pending
    WHERE e.id = ANY (cast(:ids AS bigint[])) AND e.id = lease.id AND e.lease_token = lease.token
   RETURNING e.id, e.next_delivery_at <= :now AS is_due`,
);

/**
 * Claims endpoints that have a delivery due, those that have waited longest first.
 * @param served endpoints that this process serves. One whose lease has expired may still have attempts in flight here.
 */
export async function claimEndpoints(
  isFailing: boolean,
  limit: number,
  served: readonly number[],
): Promise<ClaimedEndpoint[]> {
  const token = randomUUID();
  const at = now();
  const bindings = { isFailing, limit, served, token, now: at, until: addMilliseconds(at, LEASE_MS) };
  const rows = await runStatement<{ id: number }>(CLAIM_ENDPOINTS, bindings);
  return rows.map(({ id }) => ({ id, token, isFailing }));
}

/** Extends leases. @returns the endpoints that are still leased to this process. */
export async function renewLeases(leases: readonly EndpointLease[]): Promise<Set<number>> {
  const until = addMilliseconds(now(), LEASE_MS);
  const rows = await runStatement<{ id: number }>(RENEW_LEASES, { ...toBindings(leases), until });
  return new Set(rows.map(({ id }) => id));
}

/** Ends a lease, and computes when the endpoint is due next. @returns true if it is due already. */
export const releaseEndpoint = createBatcher<EndpointLease, boolean>({
  maxItems: 128,
  maxInFlight: 1,
  isItemError: isRejection,
  run: releaseEndpoints,
});

/**
 * Locks the endpoints in a statement of its own, so that the next one sees the deliveries of a transaction that held a
 * lock: it has made the endpoint due, which the release would undo.
 */
async function releaseEndpoints(leases: EndpointLease[]): Promise<boolean[]> {
  const bindings = toBindings(leases);
  const rows = await db.transaction(async (transaction) => {
    await runStatement(LOCK_ENDPOINTS, { ids: bindings.ids }, transaction);
    return runStatement<{ id: number; is_due: boolean | null }>(
      RELEASE_ENDPOINTS,
      { ...bindings, now: now() },
      transaction,
    );
  });
  const due = new Set(rows.filter((row) => row.is_due === true).map(({ id }) => id));
  return leases.map(({ id }) => due.has(id));
}

/** The array repeats the ids of the leases: without it, the planner estimates a hundred rows and scans the table. */
function toBindings(leases: readonly EndpointLease[]): { leases: string; ids: number[] } {
  return {
    leases: JSON.stringify(leases.map(({ id, token }) => ({ id, token }))),
    ids: leases.map(({ id }) => id),
  };
}
