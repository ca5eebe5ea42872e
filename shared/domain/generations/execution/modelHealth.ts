import { getCatalog } from '../../../lib/catalog/catalog.ts';
import {
  findReleaseRoutes,
  findTestRoute,
  getUpstreamRoutes,
  hasKey,
  type UpstreamRoute,
} from '../../../gateways/upstreams/index.ts';
import { addMilliseconds, now } from '../../../lib/clock.ts';
import { prepared, runStatement } from '../../../lib/database/preparedStatements.ts';
import { logger } from '../../../lib/logger.ts';
import { modelStatus } from '../../../lib/metrics.ts';
import { perService } from '../../../lib/serviceScope.ts';
import type { CatalogModel, ModelSlug } from '../../../spec/catalog.ts';
import {
  PROBE_STALE_MS,
  FAILED_PROBES_TO_DEGRADE,
  FAILED_PROBES_TO_OFFLINE,
  GOOD_PROBES_TO_ONLINE,
} from '../../../spec/limits.ts';
import { MODEL_STATUSES, type ModelStatus } from '../../../spec/states.ts';
import { getReleases, type Release } from '../../catalog/releases.ts';
import { UpstreamHealth } from '../../../tables/UpstreamHealth.ts';

/** A model with the status that `GET /api/models/` shows. */
export interface ModelWithStatus extends CatalogModel {
  status: ModelStatus;
  /** Name of the upstream that is its first choice. */
  provider: string;
}

/** Returns the models of the catalog that are not hidden with their status, in catalog order. */
export async function getModelsWithStatus(): Promise<ModelWithStatus[]> {
  return (await loadModels()).filter(({ hidden }) => !hidden);
}

/** Measures the status of every model for the next scrape. */
export async function measureModels(): Promise<void> {
  for (const { slug: model, status } of await loadModels()) {
    for (const candidate of MODEL_STATUSES) modelStatus.set({ model, status: candidate }, Number(candidate === status));
  }
}

async function loadModels(): Promise<ModelWithStatus[]> {
  const { getStatus } = await loadHealth();
  return getCatalog().models.map((model) => {
    const routes = getRoutes(model.slug);
    return {
      ...model,
      provider: routes[0]?.upstream.name ?? '',
      status: combineStatus(routes.map((_, position) => getStatus(model.slug, position))),
    };
  });
}

/** Returns the choices of a model; none for a model that is not in the catalog. */
const getRoutes = (model: ModelSlug): readonly UpstreamRoute[] => getUpstreamRoutes()[model] ?? [];

/** Combines the status of all choices: a model that only a fallback can serve is degraded. */
function combineStatus([primary = 'offline', ...fallbacks]: ModelStatus[]): ModelStatus {
  if (primary !== 'offline') return primary;
  return fallbacks.every((status) => status === 'offline') ? 'offline' : 'degraded';
}

/** A route, and the release whose generations it runs. */
export interface ActiveRoute extends UpstreamRoute {
  catalogId: number | null;
}

/** Choices of one model of a release. */
interface ModelChoices {
  catalogId: number | null;
  routes: readonly UpstreamRoute[];
  isOwn: boolean;
}

/** Lifetime of the cached routes. Probes run far less often. */
const ROUTE_CACHE_MS = 1_000;
const state = perService(() => ({
  activeRoutes: undefined as { routes: ActiveRoute[]; releases: readonly Release[]; cachedAt: number } | undefined,
  /** Choices of releases of other processes, by release. */
  choices: new Map<number | null, ModelChoices[]>(),
  /** Choices of models of those releases, by their definition: most models are the same in all of them. */
  routesByDefinition: new Map<string, readonly UpstreamRoute[]>(),
}));

/**
 * Returns the route that each model of each release uses now: its first choice, or a fallback while the choices before
 * it are offline. Models of other releases that this process cannot run have none. With test mode, each has another route
 * for the generations of test accounts.
 */
export async function getActiveRoutes(): Promise<ActiveRoute[]> {
  const releases = await getReleases();
  const cached = state().activeRoutes;
  const isCurrent = cached?.releases === releases && now().getTime() - cached.cachedAt < ROUTE_CACHE_MS;
  if (isCurrent) return cached.routes;
  const choices = releases.flatMap(listChoices);
  const isSimple = choices.every(({ routes }) => routes.length <= 1);
  const choose = isSimple ? ([first]: readonly UpstreamRoute[]) => first : await loadChooser();
  const live = choices.flatMap((model) => {
    const chosen = choose(model.routes, model.isOwn);
    return chosen === undefined ? [] : [{ ...chosen, catalogId: model.catalogId }];
  });
  const routes = [...live, ...releases.flatMap(listTestRoutes)];
  // Without alternatives, the routes change only with the releases.
  state().activeRoutes = { routes, releases, cachedAt: isSimple ? Infinity : now().getTime() };
  return routes;
}

function listChoices({ id, models }: Release): ModelChoices[] {
  const isOwn = id === getCatalog().id;
  if (isOwn) return models.map(({ slug }) => ({ catalogId: id, routes: getRoutes(slug), isOwn }));
  const known = state().choices;
  const choices = known.get(id) ?? models.map((model) => ({ catalogId: id, routes: findRoutesOnce(model), isOwn }));
  known.set(id, choices);
  return choices;
}

function findRoutesOnce(model: CatalogModel): readonly UpstreamRoute[] {
  const { routesByDefinition } = state();
  const key = JSON.stringify([model.slug, model.definition]);
  const routes = routesByDefinition.get(key) ?? findReleaseRoutes(model).filter(hasKey);
  routesByDefinition.set(key, routes);
  return routes;
}

function listTestRoutes({ id, models }: Release): ActiveRoute[] {
  return models.flatMap((model) => {
    const route = findTestRoute(model);
    return route === undefined ? [] : [{ ...route, catalogId: id }];
  });
}

/** Loads the statuses and returns a function that chooses among the routes of a model. */
async function loadChooser(): Promise<(routes: readonly UpstreamRoute[], isOwn: boolean) => UpstreamRoute | undefined> {
  const { getStatus, isKnownOffline } = await loadHealth();
  return (routes, isOwn) =>
    routes.find((route, position) =>
      isOwn ? getStatus(route.model, position) !== 'offline' : !isKnownOffline(route),
    ) ?? routes[0];
}

interface Health {
  /** Status of a choice of this catalog. One without a recent probe, or without any, counts as offline. */
  getStatus: (model: ModelSlug, position: number) => ModelStatus;
  /** Returns whether the upstream of a route of another release was found offline. No process may probe it any more. */
  isKnownOffline: (route: UpstreamRoute) => boolean;
}

/** Loads the status of every upstream. */
async function loadHealth(): Promise<Health> {
  const at = now();
  const freshSince = addMilliseconds(at, -PROBE_STALE_MS);
  const probed = (await UpstreamHealth.query()).filter((row) => row.probed_at > freshSince);
  const isOpen = (row: UpstreamHealth) => row.circuit_open_until !== null && row.circuit_open_until > at;
  const closed = new Map(probed.filter((row) => !isOpen(row)).map((row) => [`${row.position} ${row.model}`, row]));
  const offline = probed.filter((row) => row.status === 'offline' || isOpen(row));
  const offlineRoutes = new Set(offline.map(({ model, upstream }) => `${model} ${upstream}`));
  return {
    getStatus: (model, position) => closed.get(`${position} ${model}`)?.status ?? 'offline',
    isKnownOffline: ({ model, upstream: { name }, modelId }) => offlineRoutes.has(`${model} ${name}:${modelId}`),
  };
}

/** Degraded after one failed probe, offline after three in a row, online again after two successful ones in a row. */
const RECORD_PROBE = prepared(
  'record_probe',
  `WITH counted AS (
     INSERT INTO upstream_hours AS u (hour, model, upstream, probes, failed_probes, failed_submissions)
     VALUES (date_trunc('hour', cast(:now AS timestamptz), 'UTC'), :model, :upstream, cast(cast(:probe AS boolean) AS int),
             cast(:probe AND NOT :good AS int), cast(NOT cast(:probe AS boolean) AS int))
     ON CONFLICT (hour, model, upstream) DO UPDATE
       SET probes = u.probes + excluded.probes, failed_probes = u.failed_probes + excluded.failed_probes,
           failed_submissions = u.failed_submissions + excluded.failed_submissions
   )
   INSERT INTO upstream_health AS h (model, position, upstream, status, consecutive_successes, consecutive_failures, probed_at, detail)
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
     -- Probes that take an upstream offline and back online also close its circuit.
     circuit_open_until = CASE WHEN :good AND h.status = 'offline' AND h.consecutive_successes + 1 >= ${GOOD_PROBES_TO_ONLINE} THEN NULL
                        ELSE h.circuit_open_until END,
     detail = CASE WHEN :good AND h.upstream = excluded.upstream THEN h.detail ELSE excluded.detail END
   RETURNING status`,
);

/**
 * Records the result of a probe, or of a submission that failed in transport. Only a probe takes a model offline: a
 * customer whose prompts make the upstream hang must not affect other customers. Routes that the model no longer has
 * are ignored.
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
  if (problem !== null) logger.warn({ model, upstream: name, status: row?.status, problem }, 'upstream probe failed');
}

/** Makes the next claims choose among the upstreams again. */
export function forgetActiveRoutes(): void {
  state().activeRoutes = undefined;
}

/** Returns the position of a route among its model's choices, or -1 if it is no longer one of them. */
export function findRoutePosition({ model, upstream, modelId }: UpstreamRoute): number {
  return getRoutes(model).findIndex((route) => route.upstream.name === upstream.name && route.modelId === modelId);
}

/** Returns the time of the least recent probe over all upstreams, or null if one was never probed. */
export async function getOldestProbeTime(): Promise<Date | null> {
  const rows = await UpstreamHealth.query();
  const times = Object.values(getUpstreamRoutes()).flatMap((routes) =>
    routes.map(({ model }, position) =>
      rows.find((row) => row.model === model && row.position === position)?.probed_at.getTime(),
    ),
  );
  return times.includes(undefined) ? null : new Date(Math.min(...(times as number[])));
}
