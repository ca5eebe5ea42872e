import { now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import {
  backlogRows,
  backlogLastSuccess,
  backlogOldestSeconds,
  modelStatus,
  queueOldestJobSeconds,
  queueJobs,
  taskCount,
  taskOldestSeconds,
} from '../../lib/metrics.ts';
import { getQueueDepths } from '../../queues/depth.ts';
import { countTasks } from '../tasks/listTasks.ts';
import type { TaskKind } from '../tasks/taskKind.ts';

/**
 * Counts through the partial indexes of pending rows. `commits` are connections of the service whose commit waits for a
 * synchronous standby.
 */
const BACKLOG_ROWS = prepared(
  'count_backlog',
  `SELECT 'generations' AS source, cast(count(*) AS int) AS rows, min(created_at) AS oldest
     FROM generations WHERE status = 'queued' AND NOT is_test
    UNION ALL
   SELECT 'webhook_endpoints', cast(count(*) AS int), min(next_delivery_at)
     FROM (SELECT next_delivery_at FROM webhook_endpoints WHERE next_delivery_at <= :now AND failing_since IS NULL
            UNION ALL
           SELECT next_delivery_at FROM webhook_endpoints WHERE next_delivery_at <= :now AND failing_since IS NOT NULL) due
    UNION ALL
   SELECT 'commits', cast(count(*) AS int), min(query_start) FROM pg_stat_activity
     WHERE datname = current_database() AND wait_event = 'SyncRep'`,
);

/**
 * Measures the backlog, the tasks, and the status of the models, for the next scrape, so that a scrape itself sends no
 * queries.
 * @param measureModels measures the status of every model.
 */
export async function measureBacklog(kinds: readonly TaskKind[], measureModels: () => Promise<void>): Promise<void> {
  await Promise.all([
    runMeasurement('queues', measureQueues, [queueJobs, queueOldestJobSeconds]),
    runMeasurement('rows', measureRows, [backlogRows, backlogOldestSeconds]),
    runMeasurement('tasks', () => measureTasks(kinds), [taskCount, taskOldestSeconds]),
    runMeasurement('models', measureModels, [modelStatus]),
  ]);
}

/** Runs a measurement. On failure its gauges are removed, as the last values would hide the outage. */
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
  const at = now();
  for (const { source, rows, oldest } of await readBacklog()) {
    backlogRows.set({ of: source }, rows);
    backlogOldestSeconds.set({ of: source }, getAgeSeconds(oldest, at));
  }
}

async function measureTasks(kinds: readonly TaskKind[]): Promise<void> {
  const at = now();
  for (const { kind, due, oldest, failing, given_up: givenUp } of await countTasks(kinds)) {
    for (const [state, count] of Object.entries({ due, failing, given_up: givenUp })) {
      taskCount.set({ kind, state }, count);
    }
    taskOldestSeconds.set({ kind }, getAgeSeconds(oldest, at));
  }
}

const getAgeSeconds = (oldest: Date | null, at: Date) =>
  oldest === null ? 0 : Math.max(0, (at.getTime() - oldest.getTime()) / 1_000);

/** Pending rows of a source. */
export interface Backlog {
  source: 'generations' | 'webhook_endpoints' | 'commits';
  rows: number;
  /** When the oldest became due; null if there are none. */
  oldest: Date | null;
}

export function readBacklog(): Promise<Backlog[]> {
  return runStatement<Backlog>(BACKLOG_ROWS, { now: now() });
}
