import type { Knex } from 'knex';
import { type UpstreamRoute, isThrottled } from '../../../gateways/upstreams/index.ts';
import { createBatcher } from '../../../lib/batcher.ts';
import { addMilliseconds, now } from '../../../lib/clock.ts';
import { config } from '../../../lib/config.ts';
import { isRejection, prepared, runStatement } from '../../../lib/db.ts';
import { REFRESH_INTERVAL_MS } from '../../../spec/limits.ts';
import { getActiveRoutes } from './modelHealth.ts';
import { CLOCK_SKEW_MS, SWEEP_GRACE_MS, type ClaimedGeneration, CLAIMED_COLUMNS, transition } from './transition.ts';

/** The claim's own way to the database and back, and the submit, take no longer; then another worker may have the job. */
export const getLeaseMs = () => config.UPSTREAM_TIMEOUT_MS + 2 * config.DATABASE_TIMEOUT_MS + 1_500;

/** What both ways of claiming a job do to it. One that is found in the middle of a submit counts as a submit. */
const CLAIM_UPDATE = `
     UPDATE generations g
        SET unconfirmed_submits = g.unconfirmed_submits + cast(g.submit_started_at IS NOT NULL AS int), submit_started_at = :now,
            leased_until = :lease, next_attempt_at = :lease, media_token = coalesce(g.media_token, gen_random_uuid()),
            upstream = free.upstream, upstream_model = free.upstream_model
       FROM free WHERE g.uuid = free.uuid
     RETURNING ${CLAIMED_COLUMNS}`;

const ROUTE_RECORDSET = 'json_to_recordset(:routes) AS route (model text, upstream text, upstream_model text)';
const IS_CLAIMABLE = `g.status = 'queued' AND g.upstream_handle IS NULL AND g.deadline_at > :now
          AND (g.leased_until IS NULL OR g.leased_until <= :now)`;

/** Routes as the claiming statements take them. */
function toRouteBindings(routes: UpstreamRoute[]): string {
  return JSON.stringify(
    routes.map(({ model, upstream, modelId }) => ({ model, upstream: upstream.name, upstream_model: modelId })),
  );
}

/**
 * Takes a job for submitting, or undefined where it is over, submitted, in another worker's hands, or goes to an
 * upstream where jobs wait for their turn. A job that is found in the middle of a submit was left there by a worker
 * that died or got no answer: that one is counted.
 */
export const claimForSubmit = transition(
  prepared(
    'claim_submit',
    `WITH free AS (
       SELECT g.uuid, route.upstream, route.upstream_model
         FROM generations g JOIN ${ROUTE_RECORDSET} ON route.model = g.model
        WHERE g.uuid = ANY (:uuids) AND ${IS_CLAIMABLE}
        ORDER BY g.uuid FOR NO KEY UPDATE OF g SKIP LOCKED
     ) ${CLAIM_UPDATE}`,
  ),
  async (at) => ({
    lease: addMilliseconds(at, getLeaseMs()),
    routes: toRouteBindings((await getActiveRoutes()).filter((route) => !isThrottled(route))),
  }),
);

const CLAIM_OLDEST = prepared(
  'claim_oldest',
  `WITH taken AS (
     SELECT count(*) AS jobs FROM generations
      WHERE status = 'queued' AND upstream = :upstream
        AND (upstream_handle IS NOT NULL OR (submit_started_at IS NOT NULL AND leased_until > :now))
   ), free AS (
     SELECT g.uuid, route.upstream, route.upstream_model
       FROM generations g JOIN ${ROUTE_RECORDSET} ON route.model = g.model
      WHERE ${IS_CLAIMABLE}
      ORDER BY g.uuid
      LIMIT (SELECT least(:limit, greatest(0, coalesce(cast(:concurrency AS int) - taken.jobs, :limit))) FROM taken)
        FOR NO KEY UPDATE OF g SKIP LOCKED
   ) ${CLAIM_UPDATE}`,
);

/**
 * Takes the oldest jobs that wait for an upstream, as many as its limits leave room for. To be called by whoever has
 * the upstream's turn, in the transaction that holds it: what is counted then stays so until the claim is committed.
 */
export async function claimOldest(
  transaction: Knex,
  routes: UpstreamRoute[],
  limit: number,
  at: Date,
): Promise<ClaimedGeneration[]> {
  const upstream = (routes[0] as UpstreamRoute).upstream;
  const bindings = {
    routes: toRouteBindings(routes),
    upstream: upstream.name,
    concurrency: upstream.concurrency,
    limit,
    now: at,
    lease: addMilliseconds(at, getLeaseMs()),
  };
  return runStatement<ClaimedGeneration>(CLAIM_OLDEST, bindings, transaction);
}

interface AcceptedSubmit {
  uuid: string;
  handle: Record<string, unknown>;
  /** Whose handle it is: another claim may have gone elsewhere in the meantime. */
  upstream: string;
  upstream_model: string;
}

const RECORD_ACCEPTED = prepared(
  'record_accepted',
  `WITH mine AS (
     SELECT g.uuid, r.handle, r.upstream, r.upstream_model
       FROM generations g
       JOIN json_to_recordset(:receipts) AS r (uuid uuid, handle jsonb, upstream text, upstream_model text)
         ON r.uuid = g.uuid
      WHERE g.uuid = ANY (:uuids) AND g.status = 'queued'
        AND (g.upstream_handle IS NULL OR (g.upstream_handle = r.handle AND g.upstream = r.upstream))
      ORDER BY g.uuid FOR NO KEY UPDATE OF g
   ), recorded AS (
     UPDATE generations g
        SET upstream_handle = mine.handle, upstream = mine.upstream, upstream_model = mine.upstream_model,
            submit_started_at = NULL, leased_until = NULL, next_attempt_at = :due
       FROM mine
      WHERE g.uuid = mine.uuid AND g.upstream_handle IS NULL
   )
   SELECT uuid FROM mine`,
);

/**
 * Records that the upstream accepted a job, and the handle under which it runs. Safe to repeat after a lost answer: a
 * row that already has this handle counts as recorded.
 * @returns false where the generation has ended, or has the handle of another submission.
 */
export const recordAccepted = createBatcher<AcceptedSubmit, boolean>({
  maxItems: 64,
  maxInFlight: 2,
  isItemError: isRejection,
  // Two submissions of one generation must not share a statement: only one of them is recorded.
  getKey: ({ uuid }) => uuid,
  run: async (receipts) => {
    const due = addMilliseconds(now(), REFRESH_INTERVAL_MS + SWEEP_GRACE_MS);
    const uuids = receipts.map(({ uuid }) => uuid);
    const rows = await runStatement<{ uuid: string }>(RECORD_ACCEPTED, {
      uuids,
      receipts: JSON.stringify(receipts),
      due,
    });
    const recorded = new Set(rows.map((row) => row.uuid));
    return uuids.map((uuid) => recorded.has(uuid));
  },
});

const RELEASE_GENERATION = prepared(
  'release_generation',
  `UPDATE generations
      SET leased_until = :earliest, next_attempt_at = :due, submit_started_at = CASE WHEN :unknown THEN submit_started_at END
    WHERE uuid = :uuid AND upstream_handle IS NULL AND submit_started_at = :since`,
);

/**
 * Gives a claimed job back to be submitted again later; where the outcome is unknown, the next claim counts that. One
 * that another worker has claimed since is left to it.
 */
export async function releaseGeneration(
  generation: ClaimedGeneration,
  delayMs: number,
  outcome: 'not accepted' | 'unknown',
): Promise<void> {
  const { uuid, submit_started_at: since } = generation;
  const at = now();
  await runStatement(RELEASE_GENERATION, {
    uuid,
    since,
    // The ring for it must not come too early by the clock of another machine.
    notBefore: addMilliseconds(at, delayMs - CLOCK_SKEW_MS),
    due: addMilliseconds(at, delayMs + SWEEP_GRACE_MS),
    unknown: outcome === 'unknown',
  });
}
