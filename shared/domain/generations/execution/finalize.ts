import { storeOutput } from '../../../gateways/media/storeOutput.ts';
import { InvalidOutputError } from '../../../gateways/media/download.ts';
import {
  computeCostCents,
  countRouteOutputs,
  FAILURE_MESSAGES,
  getDownloadPolicy,
  getDownloadSource,
  isTestUpstream,
  type UpstreamRoute,
  type UpstreamOutput,
  type UpstreamResult,
} from '../../../gateways/upstreams/index.ts';
import { logger } from '../../../lib/logger.ts';
import type { GenerationFile } from '../../../tables/Generation.ts';
import { scheduleOrphanedMediaDeletion } from '../mediaDeletions.ts';
import { completeGeneration } from './completeOrFail.ts';
import { endFailedRun } from './failOver.ts';
import { retryDuringOutage, type RetryPolicy, tryOnce } from './retry.ts';
import type { ClaimedGeneration } from './step.ts';

interface FinalizeOptions {
  /**
   * Policy for each step. A step that fails is retried alone: an output that is already stored is not fetched again
   * because the database was unavailable.
   */
  retry?: RetryPolicy;
  /** Claims local space for an output whose size becomes known; returns false if there is none. */
  resize?: (bytes: number) => boolean;
}

/**
 * Ends a generation with the result of its upstream: stores the outputs and then completes it, or ends its failed run.
 * @throws Error if the generation could not be finalized now; the caller may try again.
 */
export async function finalizeGeneration(
  generation: ClaimedGeneration,
  route: UpstreamRoute,
  result: UpstreamResult,
  { retry = tryOnce, resize }: FinalizeOptions = {},
): Promise<void> {
  const { uuid, account_id } = generation;
  if (result.state === 'failed') {
    await retry(() => endFailedRun(generation, result.message));
    return;
  }
  try {
    // Each submission has its own file names: stored outputs never change.
    const number = generation.unconfirmed_submits + Number(generation.failed_over_at !== null);
    const name = number === 0 ? uuid : `${uuid}-${number}`;
    const store = (output: UpstreamOutput, place: number): Promise<GenerationFile> =>
      retry(() =>
        storeOutput({
          output: 'url' in output ? getDownloadSource(route, output.url) : output,
          ...(resize === undefined ? {} : { resize }),
          policy: getDownloadPolicy(route),
          kind: route.kind,
          name: place === 1 ? name : `${name}.${place}`,
          generationId: uuid,
          mediaToken: generation.media_token,
        }),
      );
    const paid = countRouteOutputs(route, generation.params);
    const made = result.outputs.length + (result.filtered ?? 0);
    // The test upstream may make fewer: nothing was paid for them.
    if (made < paid && !isTestUpstream(route.upstream))
      throw new InvalidOutputError(`${made} files instead of ${paid}`);
    // Files beyond those that were paid for are not stored: some models return several whatever was requested.
    const [output, ...others] = result.outputs;
    const first = await store(output, 1);
    const more: GenerationFile[] = [];
    for (const [index, other] of others.slice(0, paid - 1).entries()) more.push(await store(other, index + 2));
    const success = {
      uuid,
      account_id,
      ...first,
      more_outputs: more.length === 0 ? null : more,
      is_watermarked: result.isWatermarked || isTestUpstream(route.upstream),
      provider_cost_cents: result.costCents ?? tryComputeCostCents(generation, route),
    };
    const hasEnded = await retry(() => retryDuringOutage(generation, () => completeGeneration(success)));
    if (!hasEnded) await scheduleOrphanedMediaDeletion(generation);
  } catch (error) {
    if (!(error instanceof InvalidOutputError)) throw error;
    logger.error({ err: error, generationId: uuid }, 'output invalid; failing generation');
    await retry(() => endFailedRun(generation, FAILURE_MESSAGES.unusableOutput));
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
