import { findUpstreamRoute, type UpstreamRoute } from '../../../gateways/upstreams/index.ts';
import { getModelInfo } from '../../../lib/catalog/knownModels.ts';
import { ensureModelsKnown } from '../../catalog/knownModels.ts';
import { findReleasedModel } from '../../catalog/releases.ts';
import type { ClaimedGeneration } from './step.ts';

/** Returns the route that a generation was claimed for, or undefined if its upstream is no longer configured. */
export async function getGenerationRoute({
  model: slug,
  upstream,
  upstream_model: upstreamModel,
  catalog_id: catalogId,
}: Pick<ClaimedGeneration, 'model' | 'upstream' | 'upstream_model' | 'catalog_id'>): Promise<
  UpstreamRoute | undefined
> {
  const model = await findReleasedModel(catalogId, slug);
  if (model !== undefined) return findUpstreamRoute(model, upstream, upstreamModel);
  await ensureModelsKnown([slug]);
  return findUpstreamRoute(getModelInfo(slug), upstream, upstreamModel);
}
