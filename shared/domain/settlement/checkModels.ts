import { upstreamOf } from '../../gateways/upstreams/index.ts';
import { MODELS } from '../../spec/catalog.ts';
import { recordProbe } from '../modelHealth.ts';

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
