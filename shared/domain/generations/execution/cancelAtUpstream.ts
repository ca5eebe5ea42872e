import {
  type CancelResult,
  getUpstream,
  type UpstreamHandle,
  type UpstreamRoute,
} from '../../../gateways/upstreams/index.ts';
import { logger } from '../../../lib/logger.ts';

/**
 * Asks the upstream to cancel a generation. Never rejects: without a response it is unknown whether it runs.
 * @returns `did_not_run` if the upstream confirms that it has removed the generation before it started.
 */
export async function cancelAtUpstream(
  generationId: string,
  route: UpstreamRoute,
  handle: UpstreamHandle,
): Promise<CancelResult> {
  return getUpstream(route)
    .cancel(handle)
    .catch((err: unknown) => {
      logger.info({ err, generationId }, 'cancel at upstream failed');
      return 'unknown';
    });
}
