import type { Knex } from 'knex';
import { type Catalog, getDefinitions } from '../../lib/catalog/catalog.ts';
import { ConfigError } from '../../lib/config.ts';
import type { ReleasedModel } from '../../tables/ReleasedModel.ts';
import { releasePlans } from './releasePlans.ts';

/** Key of the advisory lock that serializes releases. An arbitrary constant, used for nothing else. */
const ADVISORY_LOCK = 7_206_512_002;

/**
 * Stores a catalog, so that processes with another one can run its generations, its models, so that their names remain
 * known, and its plans. Part of the release step; can be repeated.
 * @throws ConfigError if a slug or a UUID belongs to another model, or a plan that was sold is changed or removed.
 */
export async function releaseCatalog(db: Knex, catalog: Catalog): Promise<void> {
  await db.transaction(async (transaction) => {
    await transaction.raw('SELECT pg_advisory_xact_lock(?)', [ADVISORY_LOCK]);
    const released = await transaction<ReleasedModel>('catalog_models').select('slug', 'uuid', 'kind');
    checkIdentities(catalog, released);
    await releasePlans(transaction, catalog.plans);
    await storeModels(transaction, catalog);
    await transaction.raw(
      `INSERT INTO catalog_releases (id, body, released_at) VALUES (?, ?, clock_timestamp())
       ON CONFLICT (id) DO UPDATE SET released_at = excluded.released_at`,
      [catalog.releaseId, JSON.stringify(getDefinitions(catalog.models))],
    );
  });
}

/** Slugs are part of requests and generations, so they are never reused for another model. */
function checkIdentities({ models }: Catalog, released: Pick<ReleasedModel, 'slug' | 'uuid' | 'kind'>[]): void {
  for (const { slug, uuid, kind } of models) {
    const path = `CATALOG/models/${slug}`;
    const known = released.find((model) => model.slug === slug);
    if (known !== undefined && known.kind !== kind)
      throw new ConfigError(
        `${path}/kind must be ${known.kind}, because ${slug} was released so: give the new model another slug.`,
      );
    if (known !== undefined && known.uuid !== uuid)
      throw new ConfigError(
        `${path}/uuid must be ${known.uuid}, because ${slug} was released with it: give the new model another slug.`,
      );
    const other = released.find((model) => model.uuid === uuid && model.slug !== slug);
    if (other !== undefined)
      throw new ConfigError(`${path}/uuid must be another one, because ${other.slug} was released with it.`);
  }
}

async function storeModels(transaction: Knex.Transaction, { models }: Catalog): Promise<void> {
  const rows = models.map(({ slug, uuid, kind, name }) => ({ slug, uuid, kind, name }));
  await transaction.raw(
    `INSERT INTO catalog_models AS m (slug, uuid, kind, name, released_at)
     SELECT slug, uuid, kind, name, clock_timestamp()
       FROM json_to_recordset(cast(? AS json)) AS r (slug text, uuid uuid, kind text, name text)
     ON CONFLICT (slug) DO UPDATE SET name = excluded.name, removed_at = NULL`,
    [JSON.stringify(rows)],
  );
  await transaction.raw(
    'UPDATE catalog_models SET removed_at = clock_timestamp() WHERE removed_at IS NULL AND NOT slug = ANY (cast(? AS text[]))',
    [rows.map(({ slug }) => slug)],
  );
}
