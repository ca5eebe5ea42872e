import { renewDueCreditPeriods } from '../../../shared/domain/credits/renewDuePeriods.ts';
import { parseConfig } from '../../../shared/lib/config.ts';
import { openService } from '../../../shared/service.ts';
import { serveParent } from '../childProcess.ts';

await openService(parseConfig(process.env));

/** The service's own renewal of credit periods. */
serveParent({
  /** With its pauses, as in the worker's job, but for a given time. */
  renew: (runMaxMs: number) => measure({ runMaxMs }),
  renewWithoutPauses: () => measure({ runMaxMs: Infinity, pauseFactor: 0 }),
});

async function measure(options: { runMaxMs: number; pauseFactor?: number }): Promise<{ renewed: number; ms: number }> {
  const startedAt = performance.now();
  const renewed = await renewDueCreditPeriods(options);
  return { renewed, ms: performance.now() - startedAt };
}
