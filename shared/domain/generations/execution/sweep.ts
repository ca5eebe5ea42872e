import { FAILURE_MESSAGES } from '../../../gateways/upstreams/index.ts';
import { addMilliseconds, now } from '../../../lib/clock.ts';
import { prepared, runStatement } from '../../../lib/database/preparedStatements.ts';
import { logger } from '../../../lib/logger.ts';
import type { Generation } from '../../../tables/Generation.ts';
import { enqueueNextStep, type QueuedRow } from '../../../queues/enqueue.ts';
import { cancelAtUpstream } from './cancelAtUpstream.ts';
import { failGeneration } from './completeOrFail.ts';
import { onSlotFreed } from './dispatch.ts';
import { getGenerationRoute } from './generationRoute.ts';
import { type ClaimedGeneration, QUEUED_ROW_COLUMNS } from './step.ts';
import { getUpstreamSlots } from './upstreamSlots.ts';

const BATCH_SIZE = 1_000;
const REQUEUE_AFTER_MS = 10_000;

/** Scans the partial index of queued generations in the order of creation. */
const SWEEP_OVERDUE = prepared(
  'requeue_overdue_generations',
  `WITH overdue AS (
     SELECT uuid, account_id FROM generations WHERE status = 'queued' AND next_attempt_at <= :now AND deadline_at > :now
      ORDER BY uuid LIMIT ${BATCH_SIZE} FOR NO KEY UPDATE SKIP LOCKED
   )
   UPDATE generations g SET next_attempt_at = :again, next_poll_at = NULL FROM overdue
    WHERE g.uuid = overdue.uuid AND g.account_id = overdue.account_id
   RETURNING ${QUEUED_ROW_COLUMNS}`,
);

const FIND_EXPIRED = prepared(
  'find_expired_generations',
  `SELECT uuid, account_id, model, upstream, upstream_model, upstream_handle, catalog_id FROM generations WHERE status = 'queued' AND deadline_at <= :now
    ORDER BY uuid LIMIT ${BATCH_SIZE}`,
);

/**
 * Re-enqueues generations whose next step is overdue, because a worker died or Redis lost the job, and fails and
 * refunds those past their deadline.
 */
export async function sweepGenerations(): Promise<void> {
  const results = await Promise.allSettled([failExpired(), enqueueOverdue()]);
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

async function enqueueOverdue(): Promise<void> {
  for (;;) {
    const at = now();
    const rows = await runStatement<QueuedRow>(SWEEP_OVERDUE, {
      now: at,
      again: addMilliseconds(at, REQUEUE_AFTER_MS),
    });
    if (rows.length > 0) logger.info({ count: rows.length }, 'overdue generations re-enqueued');
    await Promise.all(rows.map(enqueueNextStep));
    if (rows.length < BATCH_SIZE) return;
  }
}

/** `upstream` and `upstream_model` are set whenever there is a handle. */
type ExpiredGeneration =
  | Pick<
      ClaimedGeneration,
      'uuid' | 'account_id' | 'model' | 'upstream' | 'upstream_model' | 'upstream_handle' | 'catalog_id'
    >
  | (Pick<Generation, 'uuid' | 'account_id' | 'model' | 'upstream' | 'upstream_model' | 'catalog_id'> & {
      upstream_handle: null;
    });

/** Fails and refunds generations past their deadline. Needs Postgres only. */
export async function failExpired(): Promise<void> {
  for (;;) {
    const rows = await runStatement<ExpiredGeneration>(FIND_EXPIRED, { now: now() });
    await Promise.all(rows.map(failExpiredGeneration));
    if (rows.length < BATCH_SIZE) return;
  }
}

async function failExpiredGeneration(generation: ExpiredGeneration): Promise<void> {
  const { uuid, account_id } = generation;
  const hasFailed = await failGeneration({ uuid, account_id, message: FAILURE_MESSAGES.notInTime });
  // The run of a generation that has just ended in another way is left alone: it was not obsolete.
  if (!hasFailed || generation.upstream_handle === null) return;
  const route = await getGenerationRoute(generation);
  if (route === undefined) return;
  // The refund does not depend on it, so it is not awaited.
  getUpstreamSlots('cancel', generation.upstream).add({
    generationId: uuid,
    run: async () => void (await cancelAtUpstream(uuid, route, generation.upstream_handle)),
  });
  await onSlotFreed(generation.upstream);
}
