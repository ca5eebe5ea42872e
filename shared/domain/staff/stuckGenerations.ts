import { addMilliseconds, now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { logger } from '../../lib/logger.ts';
import { Generation } from '../../tables/Generation.ts';
import { type Actor, recordAuditEntry } from '../audit/recordAuditEntry.ts';
import { enqueueNextStep, type QueuedRow } from '../../queues/enqueue.ts';
import { QUEUED_ROW_COLUMNS } from '../generations/execution/step.ts';

/** A queued generation without recent progress, with the columns that operators need. */
export type StuckGeneration = Pick<
  Generation,
  | 'uuid'
  | 'account_id'
  | 'model'
  | 'created_at'
  | 'deadline_at'
  | 'next_attempt_at'
  | 'polled_at'
  | 'unconfirmed_submits'
  | 'upstream'
  | 'upstream_model'
> & { is_submitted: boolean };

const STUCK_COLUMNS = `g.uuid, g.account_id, g.model, g.created_at, g.deadline_at, g.next_attempt_at, g.polled_at, g.unconfirmed_submits, g.upstream,
  g.upstream_model, g.upstream_handle IS NOT NULL AS is_submitted`;

/** No worker holds a lease, and no process has polled the upstream for a while. */
const IS_STUCK = `g.status = 'queued' AND g.created_at <= :before AND (g.leased_until IS NULL OR g.leased_until <= :now)
       AND (g.polled_at IS NULL OR g.polled_at <= :before)`;

const FIND_STUCK = prepared(
  'find_stuck_generations',
  `SELECT ${STUCK_COLUMNS} FROM generations g WHERE ${IS_STUCK} AND g.uuid > :after ORDER BY g.uuid LIMIT :limit`,
);

const FIND_STUCK_BY_UUID = prepared(
  'find_stuck_generations_by_uuid',
  `SELECT ${STUCK_COLUMNS} FROM generations g WHERE g.uuid = ANY (cast(:uuids AS uuid[])) AND ${IS_STUCK} ORDER BY g.uuid`,
);

const REQUEUE_STUCK = prepared(
  'requeue_generations',
  `WITH stuck AS (
     SELECT g.uuid, g.account_id, g.next_attempt_at FROM generations g WHERE g.uuid = ANY (cast(:uuids AS uuid[])) AND ${IS_STUCK}
      ORDER BY g.uuid FOR NO KEY UPDATE SKIP LOCKED
   )
   UPDATE generations g SET next_attempt_at = :now, next_poll_at = NULL FROM stuck
    WHERE g.uuid = stuck.uuid AND g.account_id = stuck.account_id
   RETURNING ${QUEUED_ROW_COLUMNS}, stuck.next_attempt_at AS was_due_at`,
);

/** Sorts before every uuid. */
const LOWEST_UUID = '00000000-0000-0000-0000-000000000000';

/**
 * Lists generations without progress for `idleMs`, oldest first. Includes those that wait for an upstream with a
 * dispatch loop.
 * @param after last uuid of the previous page.
 */
export async function findStuckGenerations(
  idleMs: number,
  limit: number,
  after = LOWEST_UUID,
): Promise<StuckGeneration[]> {
  const at = now();
  return runStatement<StuckGeneration>(FIND_STUCK, { now: at, before: addMilliseconds(at, -idleMs), after, limit });
}

/** Returns the named generations that are stuck. */
export async function findStuckGenerationsByUuid(uuids: string[], idleMs: number): Promise<StuckGeneration[]> {
  const at = now();
  return runStatement<StuckGeneration>(FIND_STUCK_BY_UUID, { uuids, now: at, before: addMilliseconds(at, -idleMs) });
}

interface RequeuedRow extends QueuedRow {
  /** Time of its next attempt before it was made due. */
  was_due_at: Date;
}

/**
 * Makes stuck generations due now, with an audit entry for each, and enqueues them. Skips those that a worker holds, so
 * that nothing is submitted twice. If Redis is unavailable, the sweep enqueues them.
 * @returns the generations that were made due, and whether each was enqueued.
 */
export async function requeueGenerations(
  uuids: string[],
  idleMs: number,
  actor: Actor,
): Promise<{ uuid: string; isEnqueued: boolean }[]> {
  const at = now();
  const bindings = { uuids, now: at, before: addMilliseconds(at, -idleMs) };
  const rows = await Generation.transaction(async (transaction) => {
    const requeued = await runStatement<RequeuedRow>(REQUEUE_STUCK, bindings, transaction);
    for (const { uuid, account_id: accountId, was_due_at: dueAt } of requeued) {
      await recordAuditEntry(transaction, actor, {
        action: 'generation.requeue',
        accountId,
        targetId: uuid,
        before: { nextAttemptAt: dueAt },
        after: { nextAttemptAt: at },
      });
    }
    return requeued;
  });
  if (rows.length > 0) logger.info({ generationIds: rows.map(({ uuid }) => uuid) }, 'stuck generations re-enqueued');
  return Promise.all(
    rows.map(async (row) => ({
      uuid: row.uuid,
      isEnqueued: await enqueueNextStep(row),
    })),
  );
}
