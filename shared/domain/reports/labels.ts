import { findModelInfo } from '../../lib/catalog/knownModels.ts';
import { getCatalog } from '../../lib/catalog/catalog.ts';

/** Returns the display name of a model; of one that was never released, its slug. */
export function getModelName(slug: string): string {
  return findModelInfo(slug)?.name ?? slug;
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
