import { setTimeout } from 'node:timers/promises';
import { storeOutput } from '../../../gateways/media/storeOutput.ts';
import { InvalidOutputError } from '../../../gateways/media/download.ts';
import {
  computeCostCents,
  FAILURE_MESSAGES,
  type UpstreamRoute,
  findUpstreamRoute,
  type UpstreamResult,
} from '../../../gateways/upstreams/index.ts';
import { now } from '../../../lib/clock.ts';
import { isOutage } from '../../../lib/db.ts';
import { logger } from '../../../lib/logger.ts';
import { scheduleOrphanedMediaDeletion } from '../mediaDeletions.ts';
import { failGeneration, completeGeneration } from './complete.ts';
import type { ClaimedGeneration } from './transition.ts';
import { mayRetry } from '../../../lib/drain.ts';

/** The way that a claimed job went; undefined where that upstream is not configured any more. */
export function getGenerationRoute(
  generation: Pick<ClaimedGeneration, 'model' | 'upstream' | 'upstream_model'>,
): UpstreamRoute | undefined {
  // A worker of the version before, which knew one upstream only, writes neither down.
  return findUpstreamRoute(generation.model, generation.upstream ?? 'fal', generation.upstream_model ?? '');
}

const WRITE_RETRY_DELAY_MS = 1_000;

/** What an upstream has done for us is worth some patience with the database: forgotten, it would be done again. */
export async function retryDuringOutage<Result>(
  generation: ClaimedGeneration,
  write: () => Promise<Result>,
): Promise<Result> {
  for (;;) {
    try {
      return await write();
    } catch (error) {
      if (!isOutage(error) || now() >= generation.deadline_at || !mayRetry()) throw error;
      await setTimeout(WRITE_RETRY_DELAY_MS);
    }
  }
}

/** How something is tried that may fail for the time. */
export type RetryPolicy = <Result>(work: () => Promise<Result>) => Promise<Result>;
const tryOnce: RetryPolicy = (work) => work();

/**
 * Ends a generation as its upstream has: with its output, which is in our storage before it counts as succeeded, or
 * failed and refunded.
 * @param retry how each step is tried: the output may be collected once only, and is not collected again because it
 *   could not be written down.
 * @throws Error where that cannot be done now, and may be tried again.
 */
export async function finalizeGeneration(
  generation: ClaimedGeneration,
  route: UpstreamRoute,
  result: UpstreamResult,
  retry: RetryPolicy = tryOnce,
): Promise<void> {
  const { uuid } = generation;
  if (result.state === 'failed') {
    await retry(() => failGeneration({ uuid, message: result.message }));
    return;
  }
  try {
    const { outputPath, thumbnailPath } = await retry(() =>
      storeOutput({
        output: result.output,
        policy: { upstreamHost: new URL(route.upstream.baseUrl).host, allowsPrivateAddresses: route.upstream.isLocal },
        kind: route.kind,
        // Of two runs, each has files of its own: what has been delivered never changes.
        name: generation.unconfirmed_submits === 0 ? uuid : `${uuid}-${generation.unconfirmed_submits}`,
        generationId: uuid,
        mediaToken: generation.media_token,
      }),
    );
    const success = {
      uuid,
      output_path: outputPath,
      thumbnail_path: thumbnailPath,
      is_watermarked: result.isWatermarked,
      provider_cost_cents: tryComputeCostCents(generation, route),
    };
    const hasEnded = await retry(() => retryDuringOutage(generation, () => completeGeneration(success)));
    if (!hasEnded) await scheduleOrphanedMediaDeletion(uuid);
  } catch (error) {
    if (!(error instanceof InvalidOutputError)) throw error;
    logger.error({ generationId: uuid, error: error.message }, 'the upstream did not deliver');
    await retry(() => failGeneration({ uuid, message: FAILURE_MESSAGES.unusableOutput }));
  }
}

/** A table of prices that does not fit is no reason to keep an output back. */
function tryComputeCostCents(generation: ClaimedGeneration, route: UpstreamRoute): number | null {
  try {
    return computeCostCents(route, { prompt: generation.prompt, ...generation.params });
  } catch (error) {
    logger.error(
      { generationId: generation.uuid, error: (error as Error).message },
      'what the run cost cannot be computed',
    );
    return null;
  }
}
