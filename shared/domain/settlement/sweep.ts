import { upstreamOf } from '../../gateways/upstreams/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { prepared, run } from '../../lib/db.ts';
import { logger } from '../../lib/logger.ts';
import { ring } from '../../queues/enqueue.ts';
import type { Generation } from '../../tables/Generation.ts';
import { routeOf } from './deliver.ts';
import { makeRoom } from './handOut.ts';
import { fail } from './settle.ts';
import type { Job } from './steps.ts';

const AT_ONCE = 1_000;
const RING_AGAIN_MS = 10_000;

/** What is queued is looked through by its partial index, in the order of creation. */
const OVERDUE = prepared(
  'sweep_overdue',
  `WITH overdue AS (
     SELECT uuid FROM generations WHERE status = 'queued' AND due_at <= :now AND deadline_at > :now
      ORDER BY uuid LIMIT ${AT_ONCE} FOR NO KEY UPDATE SKIP LOCKED
   )
   UPDATE generations g SET due_at = :again, next_poll_at = NULL FROM overdue WHERE g.uuid = overdue.uuid
   RETURNING g.uuid, g.upstream_handle IS NOT NULL AS submitted`,
);

const EXPIRED = prepared(
  'sweep_expired',
  `SELECT uuid, model, upstream, upstream_model, upstream_handle FROM generations WHERE status = 'queued' AND deadline_at <= :now
    ORDER BY uuid LIMIT ${AT_ONCE}`,
);

/**
 * Makes up for whatever was lost on the way: rings again for jobs whose next step is overdue (the process that should
 * have taken it died, or Redis forgot), and fails and refunds jobs past their deadline.
 */
export async function sweep(): Promise<void> {
  const results = await Promise.allSettled([failExpired(), ringForOverdue()]);
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}

async function ringForOverdue(): Promise<void> {
  for (;;) {
    const at = now();
    const rows = await run<{ uuid: string; submitted: boolean }>(OVERDUE, {
      now: at,
      again: addMilliseconds(at, RING_AGAIN_MS),
    });
    if (rows.length > 0) logger.info({ count: rows.length }, 'rang again for overdue generations');
    await Promise.all(
      rows.map(({ uuid, submitted }) => ring(submitted ? 'generation.poll' : 'generation.dispatch', uuid)),
    );
    if (rows.length < AT_ONCE) return;
  }
}

type Expired = Pick<Job, 'uuid' | 'model' | 'upstream' | 'upstream_model'> & Pick<Generation, 'upstream_handle'>;

/** Fails and refunds what is past its deadline; needs Postgres only. */
export async function failExpired(): Promise<void> {
  for (;;) {
    const rows = await run<Expired>(EXPIRED, { now: now() });
    await Promise.all(rows.map(expire));
    if (rows.length < AT_ONCE) return;
  }
}

async function expire(job: Expired): Promise<void> {
  const { uuid, upstream, upstream_handle: handle } = job;
  await fail({ uuid, message: 'The model did not finish in time.' });
  const route = routeOf(job);
  if (handle === null || route === undefined) return;
  // Refunded is refunded: that the upstream can be spared the rest of the work is a courtesy, and not waited for.
  void upstreamOf(route)
    .cancel(handle)
    .catch((error: unknown) => logger.info({ generationId: uuid, error: (error as Error).message }, 'not cancelled'));
  await makeRoom(upstream);
}
