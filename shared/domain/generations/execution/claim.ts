import type { Knex } from 'knex';
import { type UpstreamRoute, usesDispatchLoop } from '../../../gateways/upstreams/index.ts';
import { addMilliseconds } from '../../../lib/clock.ts';
import { prepared, runStatement } from '../../../lib/database/preparedStatements.ts';
import { perService } from '../../../lib/serviceScope.ts';
import type { UnsubmittedGeneration } from '../../../queues/catalog.ts';
import { getLeaseMs } from './lease.ts';
import { chooseRoute, getModelChoices, type ModelChoices } from './modelHealth.ts';
import { batchStep, type ClaimedGeneration, CLAIMED_COLUMNS } from './step.ts';

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

const IS_CLAIMABLE = `g.status = 'queued' AND g.upstream_handle IS NULL AND g.deadline_at > :now
          AND (g.leased_until IS NULL OR g.leased_until <= :now)`;

/** A route of a model, among the choices of that model. */
export interface QueueRoute {
  choices: ModelChoices;
  position: number;
  route: UpstreamRoute;
}

/** Indexes of the choices, until these change. */
const derived = perService(() => ({
  choices: [] as readonly ModelChoices[],
  byModel: new Map<string, ModelChoices>(),
  /** Routes of upstreams with a dispatch loop, by upstream. */
  queues: new Map<string, QueueRoute[]>(),
}));

async function deriveChoices() {
  const choices = await getModelChoices();
  const last = derived();
  if (last.choices === choices) return last;
  const byModel = new Map(choices.map((one) => [getChoicesKey(one.model, one.catalogId, one.isTest), one]));
  const routes = choices.flatMap((one) =>
    [...one.routes].map(([position, route]) => ({ choices: one, position, route })),
  );
  const queues = new Map<string, QueueRoute[]>();
  for (const one of routes) {
    const { name } = one.route.upstream;
    if (usesDispatchLoop(one.route)) queues.set(name, [...(queues.get(name) ?? []), one]);
  }
  return Object.assign(last, { choices, byModel, queues });
}

/** Returns the route that a claim would choose for a generation now; undefined if this process cannot run it. */
export async function findRoute(generation: UnsubmittedGeneration): Promise<UpstreamRoute | undefined> {
  const { model, catalog_id: catalogId, is_test: isTest, upstream_order: order } = generation;
  const choices = (await deriveChoices()).byModel.get(getChoicesKey(model, catalogId, isTest));
  return choices === undefined ? undefined : chooseRoute(choices, order);
}

/** Returns the routes of an upstream with a dispatch loop. */
export async function listQueueRoutes(upstream: string): Promise<readonly QueueRoute[]> {
  return (await deriveChoices()).queues.get(upstream) ?? [];
}

function getChoicesKey(model: string, catalogId: number | null, isTest: boolean): string {
  return `${isTest} ${catalogId} ${model}`;
}

/** A claim of one generation, with the route that was chosen for it. */
interface SubmitClaim {
  generation: UnsubmittedGeneration;
  route: UpstreamRoute;
}

const CLAIM_SUBMIT = prepared(
  'claim_submit',
  `WITH free AS (
     SELECT g.uuid, g.account_id, claim.upstream, claim.upstream_model
       FROM json_to_recordset(:claims)
              AS claim (uuid uuid, account_id bigint, upstream text, upstream_model text, upstream_order smallint[])
       JOIN generations g
         ON g.uuid = ANY (cast(:uuids AS uuid[])) AND g.uuid = claim.uuid AND g.account_id = claim.account_id
      WHERE ${IS_CLAIMABLE} AND g.upstream_order IS NOT DISTINCT FROM claim.upstream_order
      ORDER BY g.uuid FOR NO KEY UPDATE OF g SKIP LOCKED
   ) ${CLAIM_UPDATE}`,
);

const claimSubmit = batchStep<ReturnType<typeof toClaim>>(CLAIM_SUBMIT, (claims, at) => ({
  claims: JSON.stringify(claims),
  lease: addMilliseconds(at, getLeaseMs()),
}));

/**
 * Claims a generation for submitting. Returns undefined if it has ended, is submitted, is leased by another worker, or
 * another route must be chosen for it, since a run has failed.
 */
export const claimForSubmit = (claim: SubmitClaim): Promise<ClaimedGeneration | undefined> =>
  claimSubmit(toClaim(claim));

function toClaim({ generation, route }: SubmitClaim) {
  const { uuid, account_id, upstream_order = null } = generation;
  return { uuid, account_id, upstream: route.upstream.name, upstream_model: route.modelId, upstream_order };
}

/** In the place of the null of generations of the default models. The ids of releases are hashes. */
const DEFAULT_CATALOG_ID = 0;

/** The generations for which a route is the one that {@link chooseRoute} returns. */
const IS_ROUTED = `route.model = g.model AND coalesce(g.catalog_id, ${DEFAULT_CATALOG_ID}) = ANY (route.catalog_ids)
          AND route.is_test = g.is_test
          AND CASE WHEN g.upstream_order IS NULL THEN route.is_first
                   ELSE route.position = (SELECT p FROM unnest(g.upstream_order) WITH ORDINALITY AS wanted (p, n)
                                           WHERE p = ANY (route.known) ORDER BY p <> ALL (route.online), n LIMIT 1) END`;

const CLAIM_OLDEST = prepared(
  'claim_oldest',
  `WITH taken AS (
     SELECT count(*) AS slots FROM generations
      WHERE status = 'queued' AND upstream = :upstream AND upstream_output IS NULL
        AND (upstream_handle IS NOT NULL OR (submit_started_at IS NOT NULL AND leased_until > :now))
   ), free AS (
     SELECT g.uuid, g.account_id, route.upstream, route.upstream_model
       FROM generations g
       JOIN json_to_recordset(:routes)
              AS route (model text, upstream text, upstream_model text, catalog_ids bigint[], is_test boolean,
                        position smallint, is_first boolean, known smallint[], online smallint[]) ON ${IS_ROUTED}
      WHERE ${IS_CLAIMABLE}
      ORDER BY g.uuid
      LIMIT (SELECT least(:limit, greatest(0, coalesce(cast(:concurrency AS int) - taken.slots, :limit))) FROM taken)
        FOR NO KEY UPDATE OF g SKIP LOCKED
   ) ${CLAIM_UPDATE}`,
);

/** Encodes routes for the claim. Releases with the same route share a row: most models stay the same. */
function toRouteBindings(routes: readonly QueueRoute[]): string {
  const rows = new Map<string, object & { catalog_ids: number[] }>();
  for (const { choices, position, route } of routes) {
    const { model, isTest: is_test, online, catalogId } = choices;
    const row = {
      model,
      upstream: route.upstream.name,
      upstream_model: route.modelId,
      is_test,
      position,
      is_first: chooseRoute(choices) === route,
      known: [...choices.routes.keys()],
      online,
    };
    const key = JSON.stringify(row);
    const shared = rows.get(key) ?? { ...row, catalog_ids: [] };
    shared.catalog_ids.push(catalogId ?? DEFAULT_CATALOG_ID);
    rows.set(key, shared);
  }
  return JSON.stringify([...rows.values()]);
}

/**
 * Claims the oldest queued generations of an upstream, up to the limit and its free concurrency slots. Call it in the
 * transaction that holds the upstream's rate limit row, so that the counted slots stay valid until the claim commits.
 */
export async function claimOldest(
  transaction: Knex,
  routes: readonly QueueRoute[],
  limit: number,
  at: Date,
): Promise<ClaimedGeneration[]> {
  const { upstream } = (routes[0] as QueueRoute).route;
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
