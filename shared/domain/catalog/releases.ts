import { setImmediate } from 'node:timers/promises';
import { buildDefaultModels, type CatalogModel, getCatalog, parseRelease } from '../../lib/catalog/catalog.ts';
import { ConfigError } from '../../lib/config.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { logger } from '../../lib/logger.ts';
import { throttleLog } from '../../lib/logThrottle.ts';
import { perService } from '../../lib/serviceScope.ts';
import type { ModelSlug } from '../../spec/catalog.ts';
import { MINUTE_MS } from '../../spec/durations.ts';
import { ServiceError } from '../../spec/errors.ts';
import { CatalogRelease } from '../../tables/CatalogRelease.ts';
import { arePlansOfLastRelease } from './releasedPlans.ts';

/** Number of releases whose generations a worker runs. Processes with older ones have ended long ago. */
const RELEASES_MAX = 10;
/** Time for which the list of releases is reused. */
const LIST_CACHE_MS = 1_000;

/** Models of a release. The id is that of its generations. */
export interface Release {
  id: number | null;
  models: readonly CatalogModel[];
}

const state = perService(() => ({
  releases: new Map<number | null, Release>(),
  /** All releases that generations may belong to; the same array until the list changes. */
  list: [] as readonly Release[],
  listedAt: -Infinity,
  isReleased: false,
}));

const LIST_RELEASES = prepared(
  'list_catalog_releases',
  `SELECT id FROM catalog_releases ORDER BY released_at DESC, id LIMIT ${RELEASES_MAX}`,
);

/**
 * Lists the releases whose generations this process may run: its own catalog first, then those of other processes.
 * While the database is unavailable, those that are known.
 */
export async function getReleases(): Promise<readonly Release[]> {
  const { models, id: ownId, releaseId } = getCatalog();
  const cache = state();
  if (cache.list.length === 0) cache.list = [{ id: ownId, models }];
  if (performance.now() - cache.listedAt < LIST_CACHE_MS) return cache.list;
  cache.listedAt = performance.now();
  try {
    const rows = await runStatement<{ id: number }>(LIST_RELEASES, {});
    const ids = new Set([ownId, null, ...rows.map(({ id }) => id).filter((id) => id !== releaseId)]);
    const found: Release[] = [];
    for (const id of ids) {
      const release = await loadRelease(id);
      if (release !== undefined) found.push(release);
    }
    const isSame = found.length === cache.list.length && found.every(({ id }, index) => cache.list[index]?.id === id);
    if (!isSame) cache.list = found;
  } catch (err) {
    logger.debug({ err }, 'catalog releases not listed; using the known ones');
  }
  return cache.list;
}

/** Returns the models of a release, or undefined if it was not released or this version does not support it. */
export async function loadRelease(id: number | null): Promise<Release | undefined> {
  const catalog = getCatalog();
  if (id === catalog.id) return { id, models: catalog.models };
  const cached = state().releases.get(id);
  if (cached !== undefined) return cached;
  const models = id === null ? buildDefaultModels() : await readRelease(id);
  if (models === undefined) return undefined;
  const release = { id, models };
  state().releases.set(id, release);
  return release;
}

/** Returns a model as a release defines it. */
export async function findReleasedModel(id: number | null, slug: ModelSlug): Promise<CatalogModel | undefined> {
  return (await loadRelease(id))?.models.find((model) => model.slug === slug);
}

async function readRelease(id: number): Promise<readonly CatalogModel[] | undefined> {
  // The default models are released, too, but their generations record no release.
  const release = await CatalogRelease.query().findById(id);
  if (release === undefined) return undefined;
  // To parse a release of 200 models takes a tenth of a second: the process handles other work between two of them.
  await setImmediate();
  try {
    return parseRelease(release.body);
  } catch (err) {
    logger.debug({ err, release: id }, 'catalog release not supported');
    return [];
  }
}

/** Returns whether the catalog of this process was released. The default models need no release. */
export async function isCatalogReleased(): Promise<boolean> {
  const cache = state();
  const { id } = getCatalog();
  if (id === null || cache.isReleased) return true;
  cache.isReleased = (await CatalogRelease.query().findById(id).select('id')) !== undefined;
  return cache.isReleased;
}

/** @throws ServiceError internal_error (503) unless the catalog of this process was released. */
export async function requireReleasedCatalog(): Promise<void> {
  if (await isCatalogReleased()) return;
  throw new ServiceError(
    'internal_error',
    'The service is being updated. No generation was created and no credits were charged. Try again in a minute.',
    { retryAfterSeconds: 60 },
  );
}

/** An older catalog is usual during a deployment, and is reported again for as long as its process runs. */
const WARN_EVERY_MS = 10 * MINUTE_MS;

const warnOlderCatalog = perService(() =>
  throttleLog(WARN_EVERY_MS, (_suppressed, release: number, newest: number) =>
    logger.warn({ release, newest }, 'catalog is older than the last release; restart this process with that CATALOG'),
  ),
);

/** Logs a warning while this process sells the models of a catalog that another release has replaced. */
export async function reportOlderCatalog(): Promise<void> {
  const newest = await findNewestRelease();
  const { releaseId } = getCatalog();
  if (newest !== undefined && newest.id !== releaseId) warnOlderCatalog()(releaseId, newest.id);
}

function findNewestRelease() {
  return CatalogRelease.query().select('id').orderBy('released_at', 'desc').first();
}

/**
 * Checks the catalog of a command, whose names and plans must be those of the service.
 * @throws ConfigError if another catalog was released last.
 */
export async function requireNewestCatalog(): Promise<void> {
  // The command itself reports a database that is unavailable or not migrated.
  const newest = await findNewestRelease().catch(() => undefined);
  if (newest === undefined) return;
  if (newest.id === getCatalog().releaseId && (await arePlansOfLastRelease().catch(() => true))) return;
  throw new ConfigError('CATALOG must be that of the service: it differs from the one that was released last.');
}
