import { renewDueCreditPeriods } from '../../../shared/domain/credits/periods.ts';
import { parseConfig } from '../../../shared/lib/config.ts';
import { openService } from '../../../shared/service.ts';
import { serveParent } from '../childProcess.ts';

await openService(parseConfig(process.env));

/** The service's own renewal of credit periods, as the worker's job runs it. */
serveParent({
  turn: async () => {
    const startedAt = performance.now();
    const turned = await renewDueCreditPeriods();
    return { turned, ms: performance.now() - startedAt };
  },
});
