import { findUpstreamRoute, type UpstreamRoute } from '../../../gateways/upstreams/index.ts';
import { getModelBySlug } from '../../../lib/catalog/catalog.ts';
import type { ClaimedGeneration } from './transition.ts';

/** Returns the route that a generation was claimed for, or undefined if its upstream is no longer configured. */
export function getGenerationRoute({
  model,
  upstream,
  upstream_model: upstreamModel,
}: Pick<ClaimedGeneration, 'model' | 'upstream' | 'upstream_model'>): UpstreamRoute | undefined {
  return findUpstreamRoute(getModelBySlug(model), upstream, upstreamModel);
}
