import { now } from '../../lib/clock.ts';
import { prepared, run } from '../../lib/db.ts';
import { backlog, backlogLookedAt, oldestInBacklog, oldestJob, queuedJobs } from '../../lib/meters.ts';
import { depthOfQueues } from '../../queues/depth.ts';

/** By way of the indexes of what is under way, which hold little else; the first uuid is the oldest. */
const WAITING = prepared(
  'waiting_rows',
  `SELECT 'generations' AS of, cast(count(*) AS int) AS rows, min(created_at) AS oldest
     FROM generations WHERE status = 'queued'
    UNION ALL
   SELECT 'payment_events', cast(count(*) AS int), min(received_at) FROM payment_events
     WHERE applied_at IS NULL AND abandoned_at IS NULL`,
);

/** Looks how much there is to do, for whoever scrapes next: a scrape itself asks nobody. */
export async function meterBacklog(): Promise<void> {
  await Promise.all([
    look('queues', meterQueues, [queuedJobs, oldestJob]),
    look('rows', meterRows, [backlog, oldestInBacklog]),
  ]);
}

/** What cannot be seen is not told any more: the last that was seen would say for good that all is well. */
async function look(of: string, meter: () => Promise<void>, told: { reset(): void }[]): Promise<void> {
  try {
    await meter();
    backlogLookedAt.set({ of }, now().getTime() / 1_000);
  } catch (error) {
    for (const gauge of told) gauge.reset();
    throw error;
  }
}

async function meterQueues(): Promise<void> {
  for (const { queue, counts, oldestSeconds } of await depthOfQueues()) {
    for (const [state, count] of Object.entries(counts)) queuedJobs.set({ queue, state }, count);
    oldestJob.set({ queue }, oldestSeconds);
  }
}

async function meterRows(): Promise<void> {
  const at = now().getTime();
  for (const { of, rows, oldest } of await run<{ of: string; rows: number; oldest: Date | null }>(WAITING, {})) {
    backlog.set({ of }, rows);
    oldestInBacklog.set({ of }, oldest === null ? 0 : Math.max(0, (at - oldest.getTime()) / 1_000));
  }
}
