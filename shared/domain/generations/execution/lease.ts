import { addMilliseconds, now } from '../../../lib/clock.ts';
import { prepared, runStatement, type Statement } from '../../../lib/db.ts';
import { REFRESH_INTERVAL_MS } from '../../../spec/limits.ts';
import { getLeaseMs } from './claim.ts';
import { SWEEP_GRACE_MS, type ClaimedGeneration } from './transition.ts';

/** Work on a job that takes longer than a step's hold on it lasts: the hold is renewed every second until it is done. */

const LOCKED_QUEUED = `(SELECT uuid FROM generations WHERE uuid = ANY (:uuids) AND status = 'queued'
            ORDER BY uuid FOR NO KEY UPDATE SKIP LOCKED) mine`;

const RENEW_REFRESH_THROTTLES = prepared(
  'renew_refresh_throttles',
  `UPDATE generations g SET polled_at = :now, next_attempt_at = :until FROM ${LOCKED_QUEUED} WHERE g.uuid = mine.uuid`,
);

const RENEW_LEASES = prepared(
  'renew_leases',
  `UPDATE generations g SET leased_until = :until, next_attempt_at = :until
     FROM ${LOCKED_QUEUED}, json_to_recordset(:claims) AS claim (uuid uuid, since timestamptz)
    WHERE g.uuid = mine.uuid AND g.uuid = claim.uuid AND g.submit_started_at = claim.since AND g.upstream_handle IS NULL`,
);

/**
 * Keeps a job's gate shut while its output is being collected: nobody else starts on the same output, and when this
 * process dies the gate opens 2 seconds later.
 */
export const withRefreshThrottle = createLeaseHolder(RENEW_REFRESH_THROTTLES, () => SWEEP_GRACE_MS);

/**
 * Keeps a job's lease while its upstream works on it, where a submission lasts until the output is there: when this
 * process dies, another one finds a submit of unknown outcome when the lease is over. Who has lost a lease to another
 * claim does not renew that one's.
 */
export const withLease = createLeaseHolder(RENEW_LEASES, getLeaseMs);

function createLeaseHolder(statement: Statement, getDurationMs: () => number) {
  const held = new Set<ClaimedGeneration>();
  let heartbeat: NodeJS.Timeout | undefined;

  function renew(): void {
    const at = now();
    const uuids = [...held].map(({ uuid }) => uuid);
    const claims = JSON.stringify([...held].map(({ uuid, submit_started_at: since }) => ({ uuid, since })));
    runStatement(statement, { uuids, claims, now: at, until: addMilliseconds(at, getDurationMs()) }).catch(() => {});
  }

  return async <Result>(generation: ClaimedGeneration, work: () => Promise<Result>): Promise<Result> => {
    held.add(generation);
    heartbeat ??= setInterval(renew, REFRESH_INTERVAL_MS / 2);
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
