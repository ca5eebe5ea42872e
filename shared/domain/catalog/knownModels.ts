import { findModelInfo, rememberModel } from '../../lib/catalog/knownModels.ts';
import { logger } from '../../lib/logger.ts';
import { perService } from '../../lib/serviceScope.ts';
import { ReleasedModel } from '../../tables/ReleasedModel.ts';

/** Time for which the list of all released models is reused. */
const LIST_CACHE_MS = 10_000;
const state = perService(() => ({ listedAt: -Infinity }));

/** Makes name and kind of models available that the catalog does not contain. Costs nothing if it contains them. */
export async function ensureModelsKnown(slugs: readonly string[]): Promise<void> {
  const unknown = [...new Set(slugs)].filter((slug) => findModelInfo(slug) === undefined);
  if (unknown.length === 0) return;
  for (const model of await ReleasedModel.query().whereIn('slug', unknown)) rememberModel(model);
  for (const slug of unknown.filter((one) => findModelInfo(one) === undefined)) {
    logger.error({ model: slug }, 'model is in no release; showing its slug');
    rememberModel({ slug, name: slug, kind: 'image' });
  }
}

/** Makes all models available that were ever released, for lists by model. Cached for some seconds. */
export async function loadReleasedModels(): Promise<void> {
  if (performance.now() - state().listedAt < LIST_CACHE_MS) return;
  for (const model of await ReleasedModel.query()) rememberModel(model);
  state().listedAt = performance.now();
}
