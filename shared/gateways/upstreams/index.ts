import { config } from '../../lib/config.ts';
import type { ModelSlug } from '../../spec/catalog.ts';
import { falUpstream } from './fal.ts';
import type { Upstream } from './upstream.ts';

const fal = { baseUrl: config.FAL_BASE_URL.replace(/\/+$/, ''), key: config.FAL_KEY };

const UPSTREAMS: Record<ModelSlug, Upstream> = {
  'vidmodel-video': falUpstream({ ...fal, modelId: config.FAL_VIDEO_MODEL, kind: 'video' }),
  'imgmodel-2': falUpstream({ ...fal, modelId: config.FAL_IMAGE_MODEL, kind: 'image' }),
};

/** Who makes what is ordered of a model. */
export function upstreamOf(model: ModelSlug): Upstream {
  return UPSTREAMS[model];
}

export { closeUpstreamConnections } from './http.ts';
export { UpstreamError } from './upstream.ts';
export type { UpstreamHandle, UpstreamProgress } from './upstream.ts';
