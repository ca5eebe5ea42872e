import { addMilliseconds, now } from '../../../lib/clock.ts';
import { prepared, runStatement } from '../../../lib/db.ts';
import { logger } from '../../../lib/logger.ts';
import { enqueueGeneration } from '../../../queues/enqueue.ts';
import type { Generation } from '../../../tables/Generation.ts';

/** A job that ought to be further by now, with what there is to know of it. */
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

/** Nobody is at it: no worker holds it, and nobody has looked at its upstream for a while. */
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
     SELECT g.uuid FROM generations g WHERE g.uuid = ANY (cast(:uuids AS uuid[])) AND ${IS_STUCK}
      ORDER BY g.uuid FOR NO KEY UPDATE SKIP LOCKED
   )
   UPDATE generations g SET next_attempt_at = :now, next_poll_at = NULL FROM stuck WHERE g.uuid = stuck.uuid
   RETURNING g.uuid, g.upstream_handle IS NOT NULL AS is_submitted`,
);

/** Less than every uuid: from the beginning. */
const LOWEST_UUID = '00000000-0000-0000-0000-000000000000';

/**
 * Jobs that nobody is at and nothing has happened to for so long, oldest first. Jobs that wait for their turn at an
 * upstream whose use is limited are among them.
 * @param after the last uuid of those that are known already.
 */
export async function findStuckGenerations(
  idleMs: number,
  limit: number,
  after = LOWEST_UUID,
): Promise<StuckGeneration[]> {
  const at = now();
  return runStatement<StuckGeneration>(FIND_STUCK, { now: at, before: addMilliseconds(at, -idleMs), after, limit });
}

/** Those of the named jobs that are stuck, however many others are. */
export async function findStuckGenerationsByUuid(uuids: string[], idleMs: number): Promise<StuckGeneration[]> {
  const at = now();
  return runStatement<StuckGeneration>(FIND_STUCK_BY_UUID, { uuids, now: at, before: addMilliseconds(at, -idleMs) });
}

/**
 * Makes stuck jobs due at once and rings for them. What a worker holds is left alone, so that nothing is submitted
 * twice; what the ring does not reach the sweep finds, as the rows say that they are due.
 * @returns those that were, and whether Redis heard of each.
 */
export async function requeueGenerations(
  uuids: string[],
  idleMs: number,
): Promise<{ uuid: string; isHeard: boolean }[]> {
  const at = now();
  const bindings = { uuids, now: at, before: addMilliseconds(at, -idleMs) };
  const rows = await runStatement<{ uuid: string; is_submitted: boolean }>(REQUEUE_STUCK, bindings);
  if (rows.length > 0)
    logger.info({ generationIds: rows.map(({ uuid }) => uuid) }, 'jobs were put on their queue again');
  return Promise.all(
    rows.map(async ({ uuid, is_submitted: isSubmitted }) => ({
      uuid,
      isHeard: await enqueueGeneration(isSubmitted ? 'generation.poll' : 'generation.dispatch', uuid),
    })),
  );
}
