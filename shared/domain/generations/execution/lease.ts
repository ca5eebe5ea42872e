import { addMilliseconds, now } from '../../../lib/clock.ts';
import { config } from '../../../lib/config.ts';
import { prepared, runStatement, type Statement } from '../../../lib/database/preparedStatements.ts';
import { SWEEP_GRACE_MS, type ClaimedGeneration, toWantedBindings, WANTED_GENERATIONS } from './step.ts';

/** Leases with a heartbeat, for work that takes longer than one lease: renewed until the work is done. */

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
  `UPDATE generations g SET leased_until = :until, next_attempt_at = :until FROM ${LOCKED_QUEUED}
    WHERE g.uuid = mine.uuid AND g.account_id = mine.account_id`,
);

const RENEW_LEASES = prepared(
  'renew_leases',
  `UPDATE generations g SET leased_until = :until, next_attempt_at = :until
     FROM ${LOCKED_QUEUED}, json_to_recordset(:claims) AS claim (uuid uuid, since timestamptz)
    WHERE g.uuid = mine.uuid AND g.account_id = mine.account_id AND g.uuid = claim.uuid
      AND g.submit_started_at = claim.since AND g.upstream_handle IS NULL`,
);

/** Duration of a lease on a generation whose output is collected: after the death of its worker another one takes over. */
export const COLLECTION_LEASE_MS = SWEEP_GRACE_MS;

/**
 * Renews the lease on a generation while its output is stored. It has no fencing token: two workers that store the same
 * output write the same files, and one of them ends the generation.
 */
export const withCollectionLease = createLeaseHolder(RENEW_COLLECTIONS, () => COLLECTION_LEASE_MS);

/**
 * Renews a lease only while its fencing token (`submit_started_at`) is still ours: a worker that lost the lease cannot
 * extend the new owner's. If this process dies, the next claim finds a submit of unknown outcome.
 */
export const withLease = createLeaseHolder(RENEW_LEASES, getLeaseMs);

function createLeaseHolder(statement: Statement, getDurationMs: () => number) {
  const held = new Set<ClaimedGeneration>();
  let heartbeat: NodeJS.Timeout | undefined;

  function renew(): void {
    const at = now();
    const claims = JSON.stringify([...held].map(({ uuid, submit_started_at: since }) => ({ uuid, since })));
    runStatement(statement, {
      ...toWantedBindings([...held]),
      claims,
      now: at,
      until: addMilliseconds(at, getDurationMs()),
    }).catch(() => {});
  }

  return async <Result>(generation: ClaimedGeneration, work: () => Promise<Result>): Promise<Result> => {
    held.add(generation);
    heartbeat ??= setInterval(renew, HEARTBEAT_MS);
    try {
      return await work();
    } finally {
      held.delete(generation);
      if (held.size === 0) {
        clearInterval(heartbeat);
        heartbeat = undefined;
      }
    }
  };
}
