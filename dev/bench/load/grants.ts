import { grantDueCredits } from '../../../shared/domain/grants.ts';
import { answerParent } from '../child.ts';

/** The service's own turn of the credit periods, as the worker's job runs it. */
answerParent({
  turn: async () => {
    const startedAt = performance.now();
    const turned = await grantDueCredits();
    return { turned, ms: performance.now() - startedAt };
  },
});
