import { storeOutput } from '../../../gateways/media/storeOutput.ts';
import { InvalidOutputError } from '../../../gateways/media/download.ts';
import {
  computeCostCents,
  FAILURE_MESSAGES,
  isTestUpstream,
  type UpstreamRoute,
  type UpstreamResult,
} from '../../../gateways/upstreams/index.ts';
import { logger } from '../../../lib/logger.ts';
import { scheduleOrphanedMediaDeletion } from '../mediaDeletions.ts';
import { failGeneration, completeGeneration } from './completeOrFail.ts';
import { retryDuringOutage, type RetryPolicy, tryOnce } from './retry.ts';
import type { ClaimedGeneration } from './step.ts';

/**
 * Ends a generation with the result of its upstream: stores the output and then completes it, or fails and refunds it.
 * @param retry policy for each step. A step that fails is retried alone: an output that is already stored is not
 *   fetched again because the database was unavailable.
 * @throws Error if the generation could not be finalized now; the caller may try again.
 */
export async function finalizeGeneration(
  generation: ClaimedGeneration,
  route: UpstreamRoute,
  result: UpstreamResult,
  retry: RetryPolicy = tryOnce,
): Promise<void> {
  const { uuid, account_id } = generation;
  if (result.state === 'failed') {
    await retry(() => failGeneration({ uuid, account_id, message: result.message }));
    return;
  }
  try {
    const { outputPath, thumbnailPath } = await retry(() =>
      storeOutput({
        output: result.output,
        policy: { upstreamHost: new URL(route.upstream.baseUrl).host, allowsPrivateAddresses: route.upstream.isLocal },
        kind: route.kind,
        // Each submission has its own file names: stored outputs never change.
        name: generation.unconfirmed_submits === 0 ? uuid : `${uuid}-${generation.unconfirmed_submits}`,
        generationId: uuid,
        mediaToken: generation.media_token,
      }),
    );
    const success = {
      uuid,
      account_id,
      output_path: outputPath,
      thumbnail_path: thumbnailPath,
      is_watermarked: result.isWatermarked || isTestUpstream(route.upstream),
      provider_cost_cents: tryComputeCostCents(generation, route),
    };
    const hasEnded = await retry(() => retryDuringOutage(generation, () => completeGeneration(success)));
    if (!hasEnded) await scheduleOrphanedMediaDeletion(generation);
  } catch (error) {
    if (!(error instanceof InvalidOutputError)) throw error;
    logger.error({ err: error, generationId: uuid }, 'output invalid; failing generation');
    await retry(() => failGeneration({ uuid, account_id, message: FAILURE_MESSAGES.unusableOutput }));
  }
}

/** Returns null if the price table does not fit: a wrong price must not block an output. */
function tryComputeCostCents(generation: ClaimedGeneration, route: UpstreamRoute): number | null {
  try {
    return computeCostCents(route, { prompt: generation.prompt, ...generation.params });
  } catch (err) {
    logger.error({ err, generationId: generation.uuid }, 'provider cost not computed');
    return null;
  }
}
