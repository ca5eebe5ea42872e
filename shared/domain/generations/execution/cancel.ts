import { getUpstream, type UpstreamHandle, type UpstreamRoute } from '../../../gateways/upstreams/index.ts';
import { logger } from '../../../lib/logger.ts';

/** Asks the upstream to stop a generation whose result is no longer needed. Never rejects: cancelling is optional. */
export async function cancelAtUpstream(
  generationId: string,
  route: UpstreamRoute,
  handle: UpstreamHandle,
): Promise<void> {
  await getUpstream(route)
    .cancel(handle)
    .catch((err: unknown) => logger.info({ err, generationId }, 'cancel at upstream failed'));
}
