import type { Plan } from '../../spec/plans.ts';
import { getCatalog } from './catalog.ts';

/** Returns the plans on sale, in the order of the catalog. The subscribers of hidden ones keep them. */
export function getOfferedPlans(): readonly Plan[] {
  return getCatalog().plans.filter(({ hidden }) => !hidden);
}

/** Returns the plan that examples show: the recommended one, or the first. */
export function getExamplePlan(): Plan {
  const offered = getOfferedPlans();
  return offered.find(({ highlight }) => highlight) ?? (offered[0] as Plan);
}
