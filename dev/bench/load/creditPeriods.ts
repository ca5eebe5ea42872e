import { renewDueCreditPeriods } from '../../../shared/domain/credits/renewDuePeriods.ts';
import { parseConfig } from '../../../shared/lib/config.ts';
import { openService } from '../../../shared/service.ts';
import { serveParent } from '../childProcess.ts';

await openService(parseConfig(process.env), { isWorker: true });

/** The service's own renewal of credit periods, as in the worker's job. */
serveParent({
  /** @param runMaxMs null: until no account is due. */
  async renew(runMaxMs: number | null): Promise<{ renewed: number; ms: number }> {
    const startedAt = performance.now();
    const renewed = await renewDueCreditPeriods({ runMaxMs: runMaxMs ?? Infinity });
    return { renewed, ms: performance.now() - startedAt };
  },
});
