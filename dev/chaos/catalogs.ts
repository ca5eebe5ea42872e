import { buildDefaultModels, parseCatalog } from '../../shared/lib/catalog/catalog.ts';
import type { CatalogModel, GenerationParams } from '../../shared/spec/catalog.ts';

/**
 * Two catalogs with the same models: the default one, and one with other prices that are run by other models of the
 * upstream. Each process starts with one of them, and with another one after some restarts.
 */

/** Parameter of the second catalog that takes an image. */
export const IMAGE_PARAMETER = 'first_frame';

const SECOND_OFFERS: Record<string, { upstreams: string[]; credits: object; [option: string]: unknown }> = {
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

/** Upstream models of the second catalog, each with the id that generations record. */
export const SECOND_MODELS = Object.values(SECOND_OFFERS).flatMap(({ upstreams }) =>
  upstreams.map((model) => ({ model, catalog: String(SECOND.id) })),
);

/** Computes the price of a generation by both catalogs. The id of the default one is empty. */
export function listPricesByCatalog(model: string, params: GenerationParams): Record<string, number> {
  return Object.fromEntries(
    [DEFAULT, SECOND].map(({ id, modelsBySlug }) => [
      String(id ?? ''),
      (modelsBySlug.get(model) as CatalogModel).price(params),
    ]),
  );
}
