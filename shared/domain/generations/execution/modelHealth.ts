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

/** The upstreams that can run the generations of a model of a release. */
export interface ModelChoices {
  model: ModelSlug;
  catalogId: number | null;
  /** True for the generations of test accounts. */
  isTest: boolean;
  /** Its routes that this process can use, by their position in the catalog. */
  routes: ReadonlyMap<number, UpstreamRoute>;
  /** Positions of those whose upstream is not offline. */
  online: readonly number[];
}

/**
 * Returns the route by which a generation runs now: the first one in its order whose upstream is not offline, or the
 * first one. Statements that claim generations choose in the same way.
 * @param order null for the order of the catalog.
 * @returns undefined if this process has none of them.
 */
export function chooseRoute(
  { routes, online }: ModelChoices,
  order: readonly number[] | null = null,
): UpstreamRoute | undefined {
  const known = (order ?? [...routes.keys()]).filter((position) => routes.has(position));
  const chosen = known.find((position) => online.includes(position)) ?? known[0];
  return chosen === undefined ? undefined : routes.get(chosen);
}

/** Lifetime of the cached choices. Probes run far less often. */
const CHOICES_CACHE_MS = 1_000;

type Choices = Omit<ModelChoices, 'online'> & { isOwn: boolean };

const state = perService(() => ({
  current: undefined as { choices: ModelChoices[]; releases: readonly Release[]; cachedAt: number } | undefined,
  /** Choices of releases of other processes, by release. */
  ofReleases: new Map<number | null, Choices[]>(),
  /** Routes of models of those releases, by their definition: most models are the same in all of them. */
  routesByDefinition: new Map<string, ReadonlyMap<number, UpstreamRoute>>(),
}));

/**
 * Returns the choices of each model of each release. Models of other releases that this process cannot run have none.
 * With test mode, each has another route for the generations of test accounts.
 */
export async function getModelChoices(): Promise<readonly ModelChoices[]> {
  const releases = await getReleases();
  const cached = state().current;
  const isCurrent = cached?.releases === releases && now().getTime() - cached.cachedAt < CHOICES_CACHE_MS;
  if (isCurrent) return cached.choices;
  const all = releases.flatMap((release) => [...listChoices(release), ...listTestChoices(release)]);
  // Without alternatives, the choices change only with the releases.
  const isSimple = all.every(({ routes }) => routes.size <= 1);
  const isOnline = isSimple ? () => true : await loadOnline();
  const choices = all.map((model) => ({
    ...model,
    online: [...model.routes]
      .filter(([position, route]) => isOnline(model, position, route))
      .map(([position]) => position),
  }));
  state().current = { choices, releases, cachedAt: isSimple ? Infinity : now().getTime() };
  return choices;
}

function listChoices({ id, models }: Release): Choices[] {
  if (id === getCatalog().id)
    return models.map(({ slug: model }) => {
      return { model, catalogId: id, isTest: false, routes: new Map(getRoutes(model).entries()), isOwn: true };
    });
  const known = state().ofReleases;
  const choices =
    known.get(id) ??
    models.map((model) => {
      return { model: model.slug, catalogId: id, isTest: false, routes: findRoutesOnce(model), isOwn: false };
    });
  known.set(id, choices);
  return choices;
}

function findRoutesOnce(model: CatalogModel): ReadonlyMap<number, UpstreamRoute> {
  const { routesByDefinition } = state();
  const key = JSON.stringify([model.slug, model.definition]);
  const routes = routesByDefinition.get(key) ?? new Map(findReleaseRoutes(model).filter(([, route]) => hasKey(route)));
  routesByDefinition.set(key, routes);
  return routes;
}

function listTestChoices({ id, models }: Release): Choices[] {
  return models.flatMap((model) => {
    const route = findTestRoute(model);
    if (route === undefined) return [];
    return [{ model: model.slug, catalogId: id, isTest: true, routes: new Map([[0, route]]), isOwn: false }];
  });
}

/** Loads the statuses and returns a function that says whether the upstream of a route is not offline. */
async function loadOnline(): Promise<(choices: Choices, position: number, route: UpstreamRoute) => boolean> {
  const { getStatus, isKnownOffline } = await loadHealth();
  return ({ isOwn, model }, position, route) =>
    isOwn ? getStatus(model, position) !== 'offline' : !isKnownOffline(route);
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
export function forgetModelChoices(): void {
  state().current = undefined;
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
