import type { Knex } from 'knex';
import { isTestUpstream, usesDispatchLoop } from '../../../gateways/upstreams/index.ts';
import { addMilliseconds } from '../../../lib/clock.ts';
import { prepared, runStatement } from '../../../lib/database/preparedStatements.ts';
import { perService } from '../../../lib/serviceScope.ts';
import type { UnsubmittedGeneration } from '../../../queues/catalog.ts';
import { getLeaseMs } from './lease.ts';
import { type ActiveRoute, getActiveRoutes } from './modelHealth.ts';
import { type ClaimedGeneration, CLAIMED_COLUMNS, batchStep, WANTED_GENERATIONS } from './step.ts';

/**
 * Update that both claims share. A row with `submit_started_at` still set belongs to a worker that died or received no
 * response, so its submit is counted as unconfirmed.
 */
const CLAIM_UPDATE = `
     UPDATE generations g
        SET unconfirmed_submits = g.unconfirmed_submits + cast(g.submit_started_at IS NOT NULL AS int), submit_started_at = :now,
            leased_until = :lease, next_attempt_at = :lease, media_token = coalesce(g.media_token, gen_random_uuid()),
            upstream = free.upstream, upstream_model = free.upstream_model
       FROM free WHERE g.uuid = free.uuid AND g.account_id = free.account_id
     RETURNING ${CLAIMED_COLUMNS}`;

/** In the place of the null of generations of the default models. The ids of releases are hashes. */
const DEFAULT_CATALOG_ID = 0;
const ROUTE_RECORDSET =
  'json_to_recordset(:routes) AS route (model text, upstream text, upstream_model text, catalog_ids bigint[], is_test boolean)';
/** The test upstream runs the generations of test accounts, and no others. */
const IS_ROUTED = `route.model = g.model AND coalesce(g.catalog_id, ${DEFAULT_CATALOG_ID}) = ANY (route.catalog_ids)
          AND route.is_test = g.is_test`;
const IS_CLAIMABLE = `g.status = 'queued' AND g.upstream_handle IS NULL AND g.deadline_at > :now
          AND (g.leased_until IS NULL OR g.leased_until <= :now)`;

/** A row of the claim statements. */
interface RouteRow {
  model: string;
  upstream: string;
  upstream_model: string;
  catalog_ids: number[];
  is_test: boolean;
}

/** Encodes routes for the claim statements. Releases with the same route share a row: most models stay the same. */
function toRouteBindings(routes: readonly ActiveRoute[]): string {
  const rows = new Map<string, RouteRow>();
  for (const { model, upstream, modelId, catalogId } of routes) {
    const isTest = isTestUpstream(upstream);
    const key = JSON.stringify([model, upstream.name, modelId, isTest]);
    const row = rows.get(key) ?? {
      model,
      upstream: upstream.name,
      upstream_model: modelId,
      catalog_ids: [],
      is_test: isTest,
    };
    row.catalog_ids.push(catalogId ?? DEFAULT_CATALOG_ID);
    rows.set(key, row);
  }
  return JSON.stringify([...rows.values()]);
}

/** The active routes, as the claims and the jobs need them. */
const derived = perService(() => ({
  routes: [] as readonly ActiveRoute[],
  byModel: new Map<string, ActiveRoute>(),
  /** Routes without a dispatch loop, encoded. */
  bindings: '[]',
}));

/** Derives them again only once the active routes have changed. */
async function deriveActiveRoutes() {
  const routes = await getActiveRoutes();
  const last = derived();
  if (last.routes !== routes) {
    const byModel = new Map(
      routes.map((route) => [getRouteKey(route.model, route.catalogId, isTestUpstream(route.upstream)), route]),
    );
    const bindings = toRouteBindings(routes.filter((route) => !usesDispatchLoop(route)));
    Object.assign(last, { routes, byModel, bindings });
  }
  return last;
}

function getRouteKey(model: string, catalogId: number | null, isTest: boolean): string {
  return `${isTest} ${catalogId} ${model}`;
}

/** Returns the route that a claim would choose for a generation now; undefined if this process cannot run it. */
export async function findActiveRoute(generation: UnsubmittedGeneration): Promise<ActiveRoute | undefined> {
  const { model, catalog_id: catalogId, is_test: isTest } = generation;
  return (await deriveActiveRoutes()).byModel.get(getRouteKey(model, catalogId, isTest));
}

/**
 * Claims a generation for submitting. Returns undefined if it has ended, is submitted, is leased by another worker, or
 * belongs to an upstream with a dispatch loop.
 */
export const claimForSubmit = batchStep(
  prepared(
    'claim_submit',
    `WITH free AS (
       SELECT g.uuid, g.account_id, route.upstream, route.upstream_model
         FROM ${WANTED_GENERATIONS} JOIN ${ROUTE_RECORDSET} ON ${IS_ROUTED}
        WHERE ${IS_CLAIMABLE}
        ORDER BY g.uuid FOR NO KEY UPDATE OF g SKIP LOCKED
     ) ${CLAIM_UPDATE}`,
  ),
  async (at) => ({
    lease: addMilliseconds(at, getLeaseMs()),
    routes: (await deriveActiveRoutes()).bindings,
  }),
);

const CLAIM_OLDEST = prepared(
  'claim_oldest',
  `WITH taken AS (
     SELECT count(*) AS slots FROM generations
      WHERE status = 'queued' AND upstream = :upstream AND upstream_output IS NULL
        AND (upstream_handle IS NOT NULL OR (submit_started_at IS NOT NULL AND leased_until > :now))
   ), free AS (
     SELECT g.uuid, g.account_id, route.upstream, route.upstream_model
       FROM generations g JOIN ${ROUTE_RECORDSET} ON ${IS_ROUTED}
      WHERE ${IS_CLAIMABLE}
      ORDER BY g.uuid
      LIMIT (SELECT least(:limit, greatest(0, coalesce(cast(:concurrency AS int) - taken.slots, :limit))) FROM taken)
        FOR NO KEY UPDATE OF g SKIP LOCKED
   ) ${CLAIM_UPDATE}`,
);

/**
 * Claims the oldest queued generations of an upstream, up to the limit and its free concurrency slots. Call it in the
 * transaction that holds the upstream's rate limit row, so that the counted slots stay valid until the claim commits.
 */
export async function claimOldest(
  transaction: Knex,
  routes: ActiveRoute[],
  limit: number,
  at: Date,
): Promise<ClaimedGeneration[]> {
  const upstream = (routes[0] as ActiveRoute).upstream;
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
