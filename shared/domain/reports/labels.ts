import { getCatalog } from '../../lib/catalog/catalog.ts';

/** Returns the display name of a model; of one that is no longer in the catalog, its slug. */
export function getModelName(slug: string): string {
  return getCatalog().models.find((model) => model.slug === slug)?.name ?? slug;
}

/** Returns the name of a plan. */
export function getPlanName(slug: string): string {
  return slug === '' ? 'No plan' : (getCatalog().plans.find((plan) => plan.slug === slug)?.name ?? slug);
}

/** Returns the name of an upstream with its model. */
export function describeUpstream(name: string): string {
  return name === '' ? 'Not submitted' : name;
}

/** Formats an amount for a sentence: $500. */
export function formatUsdCents(cents: number): string {
  return (cents / 100).toLocaleString('en-US', { style: 'currency', currency: 'USD' }).replace(/\.00$/, '');
}
