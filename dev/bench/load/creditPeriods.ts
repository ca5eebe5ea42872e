import { renewDueCreditPeriods } from '../../../shared/domain/credits/periods.ts';
import { parseConfig } from '../../../shared/lib/config.ts';
import { openService } from '../../../shared/service.ts';
import { serveParent } from '../childProcess.ts';

await openService(parseConfig(process.env));

/** The service's own renewal of credit periods, as the worker's job runs it. */
serveParent({
  renew: async () => {
    const startedAt = performance.now();
    const renewed = await renewDueCreditPeriods();
    return { renewed, ms: performance.now() - startedAt };
  },
});
