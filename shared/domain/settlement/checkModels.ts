import { upstreamOf } from '../../gateways/upstreams/index.ts';
import { MODELS } from '../../spec/catalog.ts';
import { lastProbedAt, recordProbe } from '../modelHealth.ts';
import { now } from '../../lib/clock.ts';
import { PROBE_INTERVAL_MS } from '../../spec/limits.ts';

/** Probes the upstream of every model and records what it finds. */
export async function checkModels(): Promise<void> {
  await Promise.all(
    MODELS.map(async ({ slug }) => {
      const problem = await upstreamOf(slug)
        .probe()
        .then(
          () => null,
          (error: unknown) => (error as Error).message,
        );
      await recordProbe(slug, problem);
    }),
  );
}

/** Probes where the schedule, which lives in Redis, has not done so for a while: models do not go offline with Redis. */
export async function checkModelsIfOverdue(): Promise<void> {
  const probedAt = await lastProbedAt();
  if (probedAt === null || now().getTime() - probedAt.getTime() > 1.5 * PROBE_INTERVAL_MS) await checkModels();
}
