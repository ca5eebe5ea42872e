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

/** The way that a claimed job went; undefined where that upstream is not configured any more. */
export function routeOf(job: Pick<Job, 'model' | 'upstream' | 'upstream_model'>): Route | undefined {
  return routeTo(job.model, job.upstream, job.upstream_model);
}

const WRITE_AGAIN_MS = 1_000;

/** What an upstream has done for us is worth some patience with the database: forgotten, it would be done again. */
export async function persist<Result>(job: Job, write: () => Promise<Result>): Promise<Result> {
  for (;;) {
    try {
      return await write();
    } catch (error) {
      if (!isOutage(error) || now() >= job.deadline_at) throw error;
      await setTimeout(WRITE_AGAIN_MS);
    }
  }
}

/**
 * Ends a generation as its upstream has: with its output, which is in our storage before it counts as succeeded, or
 * failed and refunded.
 * @throws Error where that cannot be done now, and may be tried again.
 */
export async function deliver(job: Job, route: Route, end: UpstreamEnd): Promise<void> {
  const { uuid } = job;
  if (end.state === 'failed') {
    await fail({ uuid, message: end.message });
    return;
  }
  try {
    const { outputPath, thumbnailPath } = await collectOutput({
      output: end.output,
      trust: { ownHost: new URL(route.upstream.baseUrl).host, isLocal: route.upstream.isLocal },
      kind: route.kind,
      generationId: uuid,
      mediaToken: job.media_token,
    });
    const success = {
      uuid,
      output_path: outputPath,
      thumbnail_path: thumbnailPath,
      is_watermarked: end.isWatermarked,
      provider_cost_cents: costCentsOf(route, { prompt: job.prompt, ...job.params }),
    };
    const hasEnded = await persist(job, () => succeed(success));
    if (!hasEnded) await removeLateFiles(uuid);
  } catch (error) {
    if (!(error instanceof UnusableOutput)) throw error;
    logger.error({ generationId: uuid, error: error.message }, 'the upstream did not deliver');
    await fail({ uuid, message: MESSAGES.unusableOutput });
  }
}
