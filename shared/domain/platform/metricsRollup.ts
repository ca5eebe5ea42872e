import { db, prepared, runStatement } from '../../lib/db.ts';

/** Gains that one statement folds. */
const BATCH_SIZE = 10_000;

/** One folds at a time; who comes second leaves it to the first. */
const LOCK_ROLLUP = prepared('lock_metric_rollup', 'SELECT pg_try_advisory_xact_lock(7206512008) AS is_mine');

/**
 * Takes gains away and adds them to the sums, in one statement: each is counted once, whatever dies when. How far it
 * has come needs no writing down, as what is folded is gone.
 */
const ROLL_UP_DELTAS = prepared(
  'rollup_metric_deltas',
  `WITH gained AS MATERIALIZED (
     DELETE FROM metric_deltas WHERE ctid = ANY (ARRAY(SELECT ctid FROM metric_deltas LIMIT ${BATCH_SIZE}))
     RETURNING metric, label, day, times, amount
   ), days AS (
     INSERT INTO metric_days AS d (day, metric, label, times, amount)
     SELECT day, metric, label, sum(times), sum(amount) FROM gained WHERE day IS NOT NULL GROUP BY 1, 2, 3
     ON CONFLICT (day, metric, label)
     DO UPDATE SET times = d.times + excluded.times, amount = d.amount + excluded.amount
   ), totals AS (
     INSERT INTO metric_totals AS t (metric, label, times, amount)
     SELECT metric, label, sum(times), sum(amount) FROM gained GROUP BY 1, 2
     ON CONFLICT (metric, label)
     DO UPDATE SET times = t.times + excluded.times, amount = t.amount + excluded.amount
   )
   SELECT cast(count(*) AS int) AS gains FROM gained`,
);

/** Folds what the platform-wide sums have gained into them (docs/metrics.md). */
export async function rollUpMetrics(): Promise<void> {
  for (;;) {
    const deltaCount = await db.transaction(async (transaction) => {
      const [lock] = await runStatement<{ is_mine: boolean }>(LOCK_ROLLUP, {}, transaction);
      if (lock?.is_mine !== true) return 0;
      const [row] = await runStatement<{ deltaCount: number }>(ROLL_UP_DELTAS, {}, transaction);
      return row?.deltaCount ?? 0;
    });
    if (deltaCount < BATCH_SIZE) return;
  }
}
