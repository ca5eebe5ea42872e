import { addMilliseconds } from '../../../lib/clock.ts';
import { prepared } from '../../../lib/database/preparedStatements.ts';
import { REFRESH_INTERVAL_MS } from '../../../spec/limits.ts';
import { listUpstreamsWithCallbacks } from './pollPace.ts';
import { CLOCK_SKEW_MS, SWEEP_GRACE_MS, CLAIMED_COLUMNS, batchStep, WANTED_GENERATIONS } from './step.ts';

/**
 * Delay between two polls: `age / 5`, at least 2 and at most 8 seconds. Always 8 seconds while call-backs arrive, but not
 * after a request to cancel, which polls carry out.
 */
const POLL_DELAY = `CASE WHEN g.upstream = ANY (cast(:rare AS text[])) AND g.cancel_requested_at IS NULL THEN interval '8 seconds'
       ELSE least(interval '8 seconds', greatest(interval '2 seconds', (cast(:now AS timestamptz) - g.created_at) / 5)) END`;

/**
 * Acquires the right to poll a generation's upstream, or returns undefined if another process polled it less than
 * 2 seconds ago. Reads and polls of all processes share this throttle. The process that acquires it enqueues the next
 * poll, `poll_delay_ms` later; a poll that comes before `next_poll_at` is rejected, which ends duplicate poll chains.
 */
function createRefreshThrottle(name: string, isDue: string) {
  return batchStep(
    prepared(
      name,
      `WITH open AS (
         SELECT g.uuid, g.account_id FROM ${WANTED_GENERATIONS}
          WHERE g.status = 'queued' AND g.upstream_handle IS NOT NULL
            AND (g.polled_at IS NULL OR g.polled_at <= :before) ${isDue}
          ORDER BY g.uuid FOR NO KEY UPDATE OF g SKIP LOCKED
       )
       UPDATE generations g
          SET polled_at = :now, next_poll_at = cast(:now AS timestamptz) + ${POLL_DELAY},
              next_attempt_at = cast(:now AS timestamptz) + ${POLL_DELAY} + interval '${SWEEP_GRACE_MS} milliseconds'
         FROM open WHERE g.uuid = open.uuid AND g.account_id = open.account_id
       RETURNING ${CLAIMED_COLUMNS}, cast(1000 * extract(epoch FROM ${POLL_DELAY}) AS int) AS poll_delay_ms`,
    ),
    (at) => ({ before: addMilliseconds(at, -REFRESH_INTERVAL_MS), rare: listUpstreamsWithCallbacks() }),
  );
}

export const acquireReadRefresh = createRefreshThrottle('acquire_read_refresh', '');
export const acquirePoll = createRefreshThrottle(
  'acquire_poll',
  `AND (g.next_poll_at IS NULL
        OR g.next_poll_at <= cast(:now AS timestamptz) + interval '${CLOCK_SKEW_MS} milliseconds')`,
);
