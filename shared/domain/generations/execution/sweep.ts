import { getUpstream } from '../../../gateways/upstreams/index.ts';
import { addMilliseconds, now } from '../../../lib/clock.ts';
import { prepared, runStatement } from '../../../lib/db.ts';
import { logger } from '../../../lib/logger.ts';
import { enqueueGeneration } from '../../../queues/enqueue.ts';
import type { Generation } from '../../../tables/Generation.ts';
import { getGenerationRoute } from './finalize.ts';
import { onSlotFreed } from './dispatchLoop.ts';
import { failGeneration } from './complete.ts';
import type { ClaimedGeneration } from './transition.ts';

const BATCH_SIZE = 1_000;
const REQUEUE_AFTER_MS = 10_000;

/** What is queued is looked through by its partial index, in the order of creation. */
const SWEEP_OVERDUE = prepared(
  'requeue_overdue_generations',
  `WITH overdue AS (
     SELECT uuid FROM generations WHERE status = 'queued' AND next_attempt_at <= :now AND deadline_at > :now
      ORDER BY uuid LIMIT ${BATCH_SIZE} FOR NO KEY UPDATE SKIP LOCKED
   )
   UPDATE generations g SET next_attempt_at = :again, next_poll_at = NULL FROM overdue WHERE g.uuid = overdue.uuid
   RETURNING g.uuid, g.upstream_handle IS NOT NULL AS submitted`,
);

const FIND_EXPIRED = prepared(
  'find_expired_generations',
  `SELECT uuid, model, upstream, upstream_model, upstream_handle FROM generations WHERE status = 'queued' AND deadline_at <= :now
    ORDER BY uuid LIMIT ${BATCH_SIZE}`,
);

/**
 * Makes up for whatever was lost on the way: rings again for jobs whose next step is overdue (the process that should
 * have taken it died, or Redis forgot), and fails and refunds jobs past their deadline.
 */
export async function sweepGenerations(): Promise<void> {
  const results = await Promise.allSettled([failExpired(), enqueueOverdue()]);
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

async function enqueueOverdue(): Promise<void> {
  for (;;) {
    const at = now();
    const rows = await runStatement<{ uuid: string; submitted: boolean }>(SWEEP_OVERDUE, {
      now: at,
      again: addMilliseconds(at, REQUEUE_AFTER_MS),
    });
    if (rows.length > 0) logger.info({ count: rows.length }, 'rang again for overdue generations');
    await Promise.all(
      rows.map(({ uuid, submitted }) => enqueueGeneration(submitted ? 'generation.poll' : 'generation.dispatch', uuid)),
    );
    if (rows.length < BATCH_SIZE) return;
  }
}

type ExpiredGeneration = Pick<ClaimedGeneration, 'uuid' | 'model' | 'upstream' | 'upstream_model'> &
  Pick<Generation, 'upstream_handle'>;

/** Fails and refunds what is past its deadline; needs Postgres only. */
export async function failExpired(): Promise<void> {
  for (;;) {
    const rows = await runStatement<ExpiredGeneration>(FIND_EXPIRED, { now: now() });
    await Promise.all(rows.map(failExpiredGeneration));
    if (rows.length < BATCH_SIZE) return;
  }
}

async function failExpiredGeneration(generation: ExpiredGeneration): Promise<void> {
  const { uuid, upstream, upstream_handle: handle } = generation;
  await failGeneration({ uuid, message: 'The model did not finish in time.' });
  const route = getGenerationRoute(generation);
  if (handle === null || route === undefined) return;
  // Refunded is refunded: that the upstream can be spared the rest of the work is a courtesy, and not waited for.
  void getUpstream(route)
    .cancel(handle)
    .catch((error: unknown) => logger.info({ generationId: uuid, error: (error as Error).message }, 'not cancelled'));
  await onSlotFreed(upstream);
}
