import type { Plan } from '../../spec/plans.ts';
import { type Catalog, getCatalog } from './catalog.ts';

/** Returns the plans on sale, in the order of the catalog. The subscribers of hidden ones keep them. */
export function getOfferedPlans({ plans }: Catalog = getCatalog()): readonly Plan[] {
  return plans.filter(({ hidden }) => !hidden);
}

/** Returns the plan that examples show: the recommended one, or the first. */
export function getExamplePlan(catalog: Catalog = getCatalog()): Plan {
  const offered = getOfferedPlans(catalog);
  return offered.find(({ highlight }) => highlight) ?? (offered[0] as Plan);
}
