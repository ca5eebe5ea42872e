import { addMilliseconds, now } from '../../../lib/clock.ts';
import { config } from '../../../lib/config.ts';
import { prepared, runStatement, type Statement } from '../../../lib/database/preparedStatements.ts';
import { createLeaseHeartbeat } from '../../../lib/leaseHeartbeat.ts';
import { SWEEP_GRACE_MS, type ClaimedGeneration, toWantedBindings, WANTED_GENERATIONS } from './step.ts';

const HEARTBEAT_MS = 1_000;

/**
 * Duration of a lease on a generation: one submit and the round trips to the database before and after it. When it
 * expires, another worker may claim the generation.
 */
export const getLeaseMs = () => config.UPSTREAM_TIMEOUT_MS + 2 * config.DATABASE_TIMEOUT_MS + 1_500;

const LOCKED_QUEUED = `(SELECT g.uuid, g.account_id FROM ${WANTED_GENERATIONS} WHERE g.status = 'queued'
            ORDER BY g.uuid FOR NO KEY UPDATE OF g SKIP LOCKED) mine`;

const RENEW_COLLECTIONS = prepared(
  'renew_collections',
  `UPDATE generations g SET leased_until = :until, next_attempt_at = :until
     FROM ${LOCKED_QUEUED}, json_to_recordset(:claims) AS claim (uuid uuid, run timestamptz)
    WHERE g.uuid = mine.uuid AND g.account_id = mine.account_id AND g.uuid = claim.uuid
      AND g.failed_over_at IS NOT DISTINCT FROM claim.run`,
);

const RENEW_LEASES = prepared(
  'renew_leases',
  `UPDATE generations g SET leased_until = :until, next_attempt_at = :until
     FROM ${LOCKED_QUEUED}, json_to_recordset(:claims) AS claim (uuid uuid, since timestamptz)
    WHERE g.uuid = mine.uuid AND g.account_id = mine.account_id AND g.uuid = claim.uuid
      AND g.submit_started_at = claim.since AND g.upstream_handle IS NULL`,
);

/**
 * Duration of a lease on a generation whose output is collected: after the death of its worker another one takes over.
 */
export const COLLECTION_LEASE_MS = SWEEP_GRACE_MS;

/**
 * Renews the lease on a generation while the output of its run is stored. Two workers may hold it: they write the same
 * files, and one of them ends the generation. One whose run was found to have failed does not extend the lease of the
 * next run.
 */
export const withCollectionLease = createLeaseHeartbeat<ClaimedGeneration>({
  intervalMs: HEARTBEAT_MS,
  renew: (generations) => renewLeases(RENEW_COLLECTIONS, generations, COLLECTION_LEASE_MS),
});

/**
 * Renews a lease only while its fencing token (`submit_started_at`) is still ours: a worker that lost the lease cannot
 * extend the new owner's. If this process dies, the next claim finds a submit of unknown outcome.
 */
export const withLease = createLeaseHeartbeat<ClaimedGeneration>({
  intervalMs: HEARTBEAT_MS,
  renew: (generations) => renewLeases(RENEW_LEASES, generations, getLeaseMs()),
});

function renewLeases(statement: Statement, generations: readonly ClaimedGeneration[], durationMs: number) {
  const at = now();
  const claims = generations.map(({ uuid, submit_started_at: since, failed_over_at: run }) => ({ uuid, since, run }));
  return runStatement(statement, {
    ...toWantedBindings(generations),
    claims: JSON.stringify(claims),
    now: at,
    until: addMilliseconds(at, durationMs),
  });
}
