import { grantDueCredits } from '../../../shared/domain/grants.ts';
import { parseConfig } from '../../../shared/lib/config.ts';
import { openService } from '../../../shared/service.ts';
import { answerParent } from '../child.ts';

await openService(parseConfig(process.env));

/** The service's own turn of the credit periods, as the worker's job runs it. */
answerParent({
  turn: async () => {
    const startedAt = performance.now();
    const turned = await grantDueCredits();
    return { turned, ms: performance.now() - startedAt };
  },
});
