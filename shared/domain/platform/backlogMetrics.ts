import { now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/db.ts';
import {
  backlogRows,
  backlogLastSuccess,
  backlogOldestSeconds,
  queueOldestJobSeconds,
  queueJobs,
} from '../../lib/metrics.ts';
import { getQueueDepths } from '../../queues/depth.ts';

/** By way of the indexes of what is under way, which hold little else; the first uuid is the oldest. */
const BACKLOG_ROWS = prepared(
  'count_backlog',
  `SELECT 'generations' AS of, cast(count(*) AS int) AS rows, min(created_at) AS oldest
     FROM generations WHERE status = 'queued'
    UNION ALL
   SELECT 'payment_events', cast(count(*) AS int), min(received_at) FROM payment_events
     WHERE processed_at IS NULL AND abandoned_at IS NULL`,
);

/** Looks how much there is to do, for whoever scrapes next: a scrape itself asks nobody. */
export async function measureBacklog(): Promise<void> {
  await Promise.all([
    runMeasurement('queues', measureQueues, [queueJobs, queueOldestJobSeconds]),
    runMeasurement('rows', measureRows, [backlogRows, backlogOldestSeconds]),
  ]);
}

/** What cannot be seen is not told any more: the last that was seen would say for good that all is well. */
async function runMeasurement(
  source: string,
  measurement: () => Promise<void>,
  gauges: { reset(): void }[],
): Promise<void> {
  try {
    await measurement();
    backlogLastSuccess.set({ of: source }, now().getTime() / 1_000);
  } catch (error) {
    for (const gauge of gauges) gauge.reset();
    throw error;
  }
}

async function measureQueues(): Promise<void> {
  for (const { queue, counts, oldestSeconds } of await getQueueDepths()) {
    for (const [state, count] of Object.entries(counts)) queueJobs.set({ queue, state }, count);
    queueOldestJobSeconds.set({ queue }, oldestSeconds);
  }
}

async function measureRows(): Promise<void> {
  const at = now().getTime();
  for (const { of, rows, oldest } of await runStatement<{ of: string; rows: number; oldest: Date | null }>(
    BACKLOG_ROWS,
    {},
  )) {
    backlogRows.set({ of }, rows);
    backlogOldestSeconds.set({ of }, oldest === null ? 0 : Math.max(0, (at - oldest.getTime()) / 1_000));
  }
}
