import { setTimeout } from 'node:timers/promises';
import { collectOutput } from '../../gateways/media/collect.ts';
import { UnusableOutput } from '../../gateways/media/download.ts';
import { costCentsOf, MESSAGES, type Route, routeTo, type UpstreamEnd } from '../../gateways/upstreams/index.ts';
import { now } from '../../lib/clock.ts';
import { isOutage } from '../../lib/db.ts';
import { logger } from '../../lib/logger.ts';
import { removeLateFiles } from '../mediaRemovals.ts';
import { fail, succeed } from './settle.ts';
import type { Job } from './steps.ts';
import { mayInsist } from './underWay.ts';

/** The way that a claimed job went; undefined where that upstream is not configured any more. */
export function routeOf(job: Pick<Job, 'model' | 'upstream' | 'upstream_model'>): Route | undefined {
  // A worker of the version before, which knew one upstream only, writes neither down.
  return routeTo(job.model, job.upstream ?? 'fal', job.upstream_model ?? '');
}

const WRITE_AGAIN_MS = 1_000;

/** What an upstream has done for us is worth some patience with the database: forgotten, it would be done again. */
export async function persist<Result>(job: Job, write: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await write();
    } catch (error) {
      if (!isOutage(error) || now() >= job.deadline_at || !mayInsist()) throw error;
      await setTimeout(WRITE_AGAIN_MS);
    }
  }
}

/** How something is tried that may fail for the time. */
export type Insist = <Result>(work: () => Promise<Result>) => Promise<Result>;
const once: Insist = (work) => work();

/**
 * Ends a generation as its upstream has: with its output, which is in our storage before it counts as succeeded, or
 * failed and refunded.
 * @param insist how each step is tried: the output may be collected once only, and is not collected again because it
 *   could not be written down.
 * @throws Error where that cannot be done now, and may be tried again.
 */
export async function deliver(job: Job, route: Route, end: UpstreamEnd, insist: Insist = once): Promise<void> {
  const { uuid } = job;
  if (end.state === 'failed') {
    await insist(() => fail({ uuid, message: end.message }));
    return;
  }
  try {
    const { outputPath, thumbnailPath } = await insist(() =>
      collectOutput({
        output: end.output,
        trust: { ownHost: new URL(route.upstream.baseUrl).host, isLocal: route.upstream.isLocal },
        kind: route.kind,
        // Of two runs, each has files of its own: what has been delivered never changes.
        name: job.unknown_submits === 0 ? uuid : `${uuid}-${job.unknown_submits}`,
        generationId: uuid,
        mediaToken: job.media_token,
      }),
    );
    const success = {
      uuid,
      output_path: outputPath,
      thumbnail_path: thumbnailPath,
      is_watermarked: end.isWatermarked,
      provider_cost_cents: costOf(job, route),
    };
    const hasEnded = await insist(() => persist(job, () => succeed(success)));
    if (!hasEnded) await removeLateFiles(uuid);
  } catch (error) {
    if (!(error instanceof UnusableOutput)) throw error;
    logger.error({ generationId: uuid, error: error.message }, 'the upstream did not deliver');
    await insist(() => fail({ uuid, message: MESSAGES.unusableOutput }));
  }
}

/** A table of prices that does not fit is no reason to keep an output back. */
function costOf(job: Job, route: Route): number | null {
  try {
    return costCentsOf(route, { prompt: job.prompt, ...job.params });
  } catch (error) {
    logger.error({ generationId: job.uuid, error: (error as Error).message }, 'what the run cost cannot be computed');
    return null;
  }
}
