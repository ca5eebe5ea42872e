import { addMilliseconds, now } from '../../../lib/clock.ts';
import { config } from '../../../lib/config.ts';
import { prepared, runStatement, type Statement } from '../../../lib/database/preparedStatements.ts';
import { REFRESH_INTERVAL_MS } from '../../../spec/limits.ts';
import { SWEEP_GRACE_MS, type ClaimedGeneration, toWantedBindings, WANTED_GENERATIONS } from './step.ts';

/** Leases with a heartbeat, for work that takes longer than one lease: renewed every second until the work is done. */

/**
 * Duration of a lease on a generation: one submit and the round trips to the database before and after it. When it
 * expires, another worker may claim the generation.
 */
export const getLeaseMs = () => config.UPSTREAM_TIMEOUT_MS + 2 * config.DATABASE_TIMEOUT_MS + 1_500;

const LOCKED_QUEUED = `(SELECT g.uuid, g.account_id FROM ${WANTED_GENERATIONS} WHERE g.status = 'queued'
            ORDER BY g.uuid FOR NO KEY UPDATE OF g SKIP LOCKED) mine`;

const RENEW_REFRESH_THROTTLES = prepared(
  'renew_refresh_throttles',
  `UPDATE generations g SET polled_at = :now, next_attempt_at = :until FROM ${LOCKED_QUEUED}
    WHERE g.uuid = mine.uuid AND g.account_id = mine.account_id`,
);

const RENEW_LEASES = prepared(
  'renew_leases',
  `UPDATE generations g SET leased_until = :until, next_attempt_at = :until
     FROM ${LOCKED_QUEUED}, json_to_recordset(:claims) AS claim (uuid uuid, since timestamptz)
    WHERE g.uuid = mine.uuid AND g.account_id = mine.account_id AND g.uuid = claim.uuid
      AND g.submit_started_at = claim.since AND g.upstream_handle IS NULL`,
);

/**
 * Keeps the refresh throttle of a generation acquired while its output is stored, so that no other process stores the
 * same output. If this process dies, the throttle is free again after 2 seconds.
 */
export const withRefreshThrottle = createLeaseHolder(RENEW_REFRESH_THROTTLES, () => SWEEP_GRACE_MS);

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
