import { buildDefaultModels, parseCatalog } from '../../shared/lib/catalog/catalog.ts';
import type { Queryable, Violation } from '../../shared/domain/invariant.ts';
import type { CatalogModel, GenerationParams } from '../../shared/spec/catalog.ts';

/**
 * Two catalogs with the same models: the default one, and one with other prices that are run by other models of the
 * upstream. Each process starts with one of them, and with another one after some restarts.
 */

/** Parameter of the second catalog that takes an image. */
export const IMAGE_PARAMETER = 'first_frame';

interface Offer {
  upstreams: string[];
  credits: object | number;
  inputs?: object;
  routing?: number[];
  retry_elsewhere?: boolean;
}

const SECOND_OFFERS: Record<string, Offer> = {
  // Only this one takes images: uploads are rejected by the processes with the other catalog.
  'vidmodel-video': {
    upstreams: ['fal:chaos/second/text-to-video'],
    credits: { base: 1, per_second: 9 },
    inputs: { [IMAGE_PARAMETER]: { role: 'first_frame' } },
  },
  'imgmodel-2': {
    upstreams: ['fal:chaos/second-image', 'fal:chaos/third-image', 'fal:chaos/fourth-image'],
    routing: [3, 2, 1],
    retry_elsewhere: true,
    credits: { $by: 'resolution', '1K': 9, '2K': 11, '4K': 13 },
  },
};

/** Value of CATALOG for processes with the second catalog. */
export const SECOND_CATALOG = JSON.stringify({
  models: Object.fromEntries(
    buildDefaultModels().map(({ slug, definition }) => [slug, { ...definition, ...SECOND_OFFERS[slug] }]),
  ),
});

const [DEFAULT, SECOND] = [parseCatalog(), parseCatalog({ CATALOG: SECOND_CATALOG })];

/** Lists the prices of a generation in both catalogs. */
export function listPossiblePrices(model: string, params: GenerationParams): number[] {
  return [DEFAULT, SECOND].map(({ modelsBySlug }) => (modelsBySlug.get(model) as CatalogModel).price(params));
}

const INVARIANT = 'priced-and-run-by-one-catalog';
const STATEMENT =
  'A generation costs what the catalog that it records says, and only upstream models of this catalog run it.';

interface GenerationRow {
  account_id: string;
  uuid: string;
  model: string;
  params: GenerationParams;
  credits_charged: number;
  catalog_id: string | null;
  upstream_model: string | null;
}

/** Compares the price and the run of each generation with its catalog, and the sum of all burns with that of all prices. */
export async function compareCatalogs(client: Queryable): Promise<Violation[]> {
  const { rows } = await client.query(
    `SELECT account_id::text AS account_id, uuid, model, params, credits_charged, catalog_id::text AS catalog_id, upstream_model
       FROM generations WHERE NOT is_test AND purged_at IS NULL AND params <> '{}'`,
  );
  const found = (rows as GenerationRow[]).flatMap((row) => findProblems(row).map((detail) => report(row, detail)));
  const [sums] = (
    await client.query(
      `SELECT (SELECT coalesce(sum(credits_charged), 0) FROM generations)::text AS prices,
              (SELECT coalesce(sum(-amount), 0) FROM ledger_entries WHERE entry_type = 'burn')::text AS burns`,
    )
  ).rows as [{ prices: string; burns: string }];
  if (sums.prices === sums.burns) return found;
  const detail = `the prices are ${sums.prices} credits, the burns ${sums.burns}`;
  return [
    ...found,
    { invariant: INVARIANT, statement: STATEMENT, accountId: null, subject: 'all generations', detail },
  ];
}

function findProblems({
  model,
  params,
  credits_charged: credits,
  catalog_id,
  upstream_model,
}: GenerationRow): string[] {
  const id = catalog_id === null ? null : Number(catalog_id);
  const catalog = [DEFAULT, SECOND].find((one) => one.id === id);
  if (catalog === undefined) return [`records the unknown catalog ${catalog_id}`];
  const price = catalog.modelsBySlug.get(model)?.price(params);
  const isSecondRun = Object.values(SECOND_OFFERS).some(({ upstreams }) => upstreams.includes(`fal:${upstream_model}`));
  return [
    ...(price === credits ? [] : [`costs ${credits} credits instead of ${price}`]),
    ...(upstream_model === null || isSecondRun === (catalog === SECOND)
      ? []
      : [`was priced by the ${catalog === SECOND ? 'second' : 'default'} catalog and run by ${upstream_model}`]),
  ];
}

function report({ account_id: accountId, uuid }: GenerationRow, detail: string): Violation {
  return { invariant: INVARIANT, statement: STATEMENT, accountId, subject: `generation ${uuid}`, detail };
}
