import { completeGeneration } from '../../../shared/domain/generations/execution/completeOrFail.ts';
import { parseConfig } from '../../../shared/lib/config.ts';
import type { GenerationKey } from '../../../shared/queues/catalog.ts';
import { openService } from '../../../shared/service.ts';
import { serveParent } from '../childProcess.ts';

await openService(parseConfig(process.env));

/** The service's own completion, in the batches that a worker forms. */
serveParent({
  settle: async (generations: GenerationKey[]) => {
    const startedAt = performance.now();
    const completed = await Promise.all(
      generations.map(({ uuid, account_id }) =>
        completeGeneration({
          uuid,
          account_id,
          output_path: `bench/${uuid}.png`,
          thumbnail_path: null,
          more_outputs: null,
          is_watermarked: false,
          provider_cost_cents: null,
        }),
      ),
    );
    return { completed: completed.filter(Boolean).length, ms: performance.now() - startedAt };
  },
});
