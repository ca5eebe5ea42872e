import { type UpstreamRoute, getUpstreamRoutes } from '../../../gateways/upstreams/index.ts';
import { addMilliseconds, now } from '../../../lib/clock.ts';
import { prepared, runStatement } from '../../../lib/db.ts';
import { logger } from '../../../lib/logger.ts';
import { perService } from '../../../lib/serviceScope.ts';
import { type CatalogModel, MODELS, type ModelSlug } from '../../../spec/catalog.ts';
import {
  CIRCUIT_OPEN_MS,
  PROBE_STALE_MS,
  FAILED_PROBES_TO_DEGRADE,
  FAILED_PROBES_TO_OFFLINE,
  GOOD_PROBES_TO_ONLINE,
} from '../../../spec/limits.ts';
import type { ModelStatus } from '../../../spec/states.ts';
import { UpstreamHealth } from '../../../tables/UpstreamHealth.ts';

/** A model as `GET /api/models/` shows it. */
export interface ModelWithStatus extends CatalogModel {
  status: ModelStatus;
  /** Whose model its first choice is. */
  provider: string;
}

/** The models on sale with their status, in their order. */
export async function getModelsWithStatus(): Promise<ModelWithStatus[]> {
  const getStatus = await loadStatuses();
  return MODELS.map((model) => ({
    ...model,
    provider: getUpstreamRoutes()[model.slug][0]?.upstream.name ?? '',
    status: combineStatus(getStatus(model.slug, 0), getStatus(model.slug, 1)),
  }));
}

/** A model whose first choice is offline can be had from its fallback: not as it should be, but it can. */
function combineStatus(primary: ModelStatus, fallback: ModelStatus): ModelStatus {
  if (primary !== 'offline') return primary;
  return fallback === 'offline' ? 'offline' : 'degraded';
}

/** How long a choice of upstreams is stood by; probes come much more rarely. */
const ROUTE_CACHE_MS = 1_000;
const state = perService(() => ({ choice: undefined as { routes: UpstreamRoute[]; madeAt: number } | undefined }));

/** The upstream that each model's jobs go to now: its first choice, and while that is offline its fallback. */
export async function getActiveRoutes(): Promise<UpstreamRoute[]> {
  if (Object.values(getUpstreamRoutes()).every((choices) => choices.length === 1))
    return Object.values(getUpstreamRoutes()).flat();
  const { choice } = state();
  if (choice !== undefined && now().getTime() - choice.madeAt < ROUTE_CACHE_MS) return choice.routes;
  const getStatus = await loadStatuses();
  const current = MODELS.flatMap(({ slug }) => {
    const [first, fallback] = getUpstreamRoutes()[slug];
    const isOffline = getStatus(slug, 0) === 'offline' && getStatus(slug, 1) !== 'offline';
    return (isOffline && fallback !== undefined ? fallback : first) ?? [];
  });
  state().choice = { routes: current, madeAt: now().getTime() };
  return current;
}

/** One that no worker has probed lately, or that there is none of, counts as offline. */
async function loadStatuses(): Promise<(model: ModelSlug, position: number) => ModelStatus> {
  const rows = await UpstreamHealth.query();
  const freshSince = addMilliseconds(now(), -PROBE_STALE_MS);
  const at = now();
  const fresh = rows.filter(
    (row) => row.probed_at > freshSince && (row.circuit_open_until === null || row.circuit_open_until <= at),
  );
  return (model, position) =>
    fresh.find((row) => row.model === model && row.position === position)?.status ?? 'offline';
}

/** Degraded after one bad probe, offline after three in a row, online again after two good ones in a row. */
const RECORD_PROBE = prepared(
  'record_probe',
  `INSERT INTO upstream_health AS h (model, position, upstream, status, consecutive_successes, consecutive_failures, probed_at, detail)
   VALUES (:model, :position, :upstream, CASE WHEN :good THEN 'online' ELSE 'degraded' END,
           cast(cast(:good AS boolean) AS int), 1 - cast(cast(:good AS boolean) AS int), :now, :detail)
   ON CONFLICT (model, position) DO UPDATE SET
     upstream = excluded.upstream,
     consecutive_successes = CASE WHEN h.upstream <> excluded.upstream THEN excluded.consecutive_successes
                        WHEN :good THEN h.consecutive_successes + 1 ELSE 0 END,
     consecutive_failures = CASE WHEN h.upstream <> excluded.upstream THEN excluded.consecutive_failures
                       WHEN :good THEN 0
                       WHEN :probe THEN h.consecutive_failures + 1
                       ELSE greatest(h.consecutive_failures, least(h.consecutive_failures + 1, ${FAILED_PROBES_TO_OFFLINE} - 1)) END,
     status = CASE
       WHEN h.upstream <> excluded.upstream THEN excluded.status
       WHEN :good AND (h.status = 'online' OR h.consecutive_successes + 1 >= ${GOOD_PROBES_TO_ONLINE}) THEN 'online'
       WHEN NOT :good AND :probe AND h.consecutive_failures + 1 >= ${FAILED_PROBES_TO_OFFLINE} THEN 'offline'
       WHEN NOT :good AND h.consecutive_failures + 1 >= ${FAILED_PROBES_TO_DEGRADE} AND h.status = 'online' THEN 'degraded'
       ELSE h.status END,
     probed_at = excluded.probed_at,
     -- What the probes saw, too, is over when they say so.
     circuit_open_until = CASE WHEN :good AND h.status = 'offline' AND h.consecutive_successes + 1 >= ${GOOD_PROBES_TO_ONLINE} THEN NULL
                        ELSE h.circuit_open_until END,
     detail = CASE WHEN :good AND h.upstream = excluded.upstream THEN h.detail ELSE excluded.detail END
   RETURNING status`,
);

/**
 * Records how an upstream of a model answered. A submission that failed in transport counts as a bad probe, but only a
 * probe takes a model offline: a customer whose prompts make the upstream hang must not take it from all others. A route
 * that the model no longer has is ignored.
 */
export async function recordProbe(
  route: UpstreamRoute,
  problem: string | null,
  source: 'probe' | 'submission' = 'probe',
): Promise<void> {
  const { model, upstream, modelId } = route;
  const position = findRoutePosition(route);
  if (position < 0) return;
  const name = `${upstream.name}:${modelId}`;
  const bindings = {
    model,
    position,
    upstream: name,
    good: problem === null,
    probe: source === 'probe',
    now: now(),
    detail: problem ?? '',
  };
  const [row] = await runStatement<{ status: ModelStatus }>(RECORD_PROBE, bindings);
  if (problem !== null)
    logger.warn({ model, upstream: name, status: row?.status, problem }, 'the upstream does not answer as it should');
}

const OPEN_CIRCUIT = prepared(
  'open_upstream_circuit',
  'UPDATE upstream_health SET circuit_open_until = :until, detail = :problem WHERE model = :model AND position = :position',
);

/**
 * Leaves an upstream alone for half a minute that turned us away for our own fault: the account has no money, or no rights.
 * Its probes are good, and customers would be charged for jobs that it will not take.
 */
export async function openCircuit(route: UpstreamRoute, problem: string): Promise<void> {
  const { model, upstream, modelId } = route;
  await runStatement(OPEN_CIRCUIT, {
    model,
    position: findRoutePosition(route),
    until: addMilliseconds(now(), CIRCUIT_OPEN_MS),
    problem,
  });
  state().choice = undefined;
  logger.error({ model, upstream: `${upstream.name}:${modelId}`, problem }, 'the upstream refuses our account');
}

/** Of a model's choices; -1 where it is none any more. */
function findRoutePosition({ model, upstream, modelId }: UpstreamRoute): number {
  return getUpstreamRoutes()[model].findIndex(
    (route) => route.upstream.name === upstream.name && route.modelId === modelId,
  );
}

/** When the upstream that was left alone longest was last probed; null where one never was. */
export async function getOldestProbeTime(): Promise<Date | null> {
  const rows = await UpstreamHealth.query();
  const times = Object.values(getUpstreamRoutes()).flatMap((routes) =>
    routes.map(({ model }, position) =>
      rows.find((row) => row.model === model && row.position === position)?.probed_at.getTime(),
    ),
  );
  return times.includes(undefined) ? null : new Date(Math.min(...(times as number[])));
}
