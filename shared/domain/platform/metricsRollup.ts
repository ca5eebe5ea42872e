import { db } from '../../lib/database/pool.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';

/** Deltas that one statement rolls up. */
const BATCH_SIZE = 10_000;

/** Serializes rollups. A second one does nothing and leaves the deltas to the first. */
const LOCK_ROLLUP = prepared('lock_metric_rollup', 'SELECT pg_try_advisory_xact_lock(7206512008) AS is_mine');

/**
 * Deletes deltas and adds them to the sums in one statement, so that each delta is counted once, whenever the process
 * or the database crashes. Progress needs no record: a delta that was rolled up is gone.
 */
const ROLL_UP_DELTAS = prepared(
  'rollup_metric_deltas',
  `WITH deltas AS MATERIALIZED (
     DELETE FROM metric_deltas WHERE ctid = ANY (ARRAY(SELECT ctid FROM metric_deltas LIMIT ${BATCH_SIZE}))
     RETURNING metric, label, day, count, amount
   ), days AS (
     INSERT INTO metric_days AS d (day, metric, label, count, amount)
     SELECT day, metric, label, sum(count), sum(amount) FROM deltas WHERE day IS NOT NULL GROUP BY 1, 2, 3
     ON CONFLICT (day, metric, label)
     DO UPDATE SET count = d.count + excluded.count, amount = d.amount + excluded.amount
   ), totals AS (
     INSERT INTO metric_totals AS t (metric, label, count, amount)
     SELECT metric, label, sum(count), sum(amount) FROM deltas GROUP BY 1, 2
     ON CONFLICT (metric, label)
     DO UPDATE SET count = t.count + excluded.count, amount = t.amount + excluded.amount
   )
   SELECT cast(count(*) AS int) AS delta_count FROM deltas`,
);

/** Rolls all recorded deltas up into the service-wide sums (docs/metrics.md). */
export async function rollUpMetrics(): Promise<void> {
  for (;;) {
    const deltaCount = await db.transaction(async (transaction) => {
      const [lock] = await runStatement<{ is_mine: boolean }>(LOCK_ROLLUP, {}, transaction);
      if (lock?.is_mine !== true) return 0;
      const [row] = await runStatement<{ delta_count: number }>(ROLL_UP_DELTAS, {}, transaction);
      return row?.delta_count ?? 0;
    });
    if (deltaCount < BATCH_SIZE) return;
  }
}
