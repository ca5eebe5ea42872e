import { db } from '../../../shared/lib/database/pool.ts';
import { parseConfig } from '../../../shared/lib/config.ts';
import { enqueueTasks, openQueues } from '../../../shared/queues/enqueue.ts';
import { openService } from '../../../shared/service.ts';
import { serveParent } from '../childProcess.ts';

await openService(parseConfig(process.env));
await openQueues();

const TICK_MS = 50;

/** Inserts events of the next generations of `bench_subjects`, and enqueues their dispatch. */
async function record(events: number, skip: number): Promise<void> {
  await db.raw(
    `INSERT INTO outbox_events (account_id, type, subject, created_at)
     SELECT account_id, 'generation.succeeded', uuid::text, now() FROM bench_subjects
      WHERE place > :skip AND place <= :until`,
    { skip, until: skip + events },
  );
  await enqueueTasks('event.dispatch');
}

serveParent({
  record,
  /** Records events at a constant rate. @returns their number. */
  recordSteadily: async (perSecond: number, durationMs: number) => {
    const startedAt = performance.now();
    let recorded = 0;
    for (;;) {
      const elapsedMs = performance.now() - startedAt;
      const due = Math.floor((Math.min(elapsedMs, durationMs) * perSecond) / 1_000);
      if (due > recorded) await record(due - recorded, recorded);
      recorded = due;
      if (elapsedMs >= durationMs) return recorded;
      await new Promise((resolve) => setTimeout(resolve, TICK_MS));
    }
  },
});
