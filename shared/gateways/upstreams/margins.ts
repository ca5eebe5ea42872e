import { type CatalogModel, getCatalog } from '../../lib/catalog/catalog.ts';
import { listPrices } from '../../lib/catalog/price.ts';
import type { GenerationParams } from '../../spec/catalog.ts';
import { computeCostCents, getUpstreamRoutes } from './upstreamConfig.ts';

/** The smallest margin of a model, at its first choice and the rate of the cheapest plan. */
export interface ModelMargin {
  model: string;
  /**
   * Part of the revenue that is left after the provider's price; negative if a generation costs more than it brings.
   */
  ratio: number;
  /** Parameters with this margin. */
  params: GenerationParams;
  revenueCents: number;
  costCents: number;
}

/** Computes the smallest margin of each model whose provider's prices are known. */
export function computeMargins(): ModelMargin[] {
  const { models, plans } = getCatalog();
  const centsPerCredit = Math.min(...plans.map((plan) => plan.priceMonthlyCents / plan.monthlyCredits));
  return models.flatMap((model) => findLeastMargin(model, centsPerCredit) ?? []);
}

function findLeastMargin(model: CatalogModel, centsPerCredit: number): ModelMargin | undefined {
  const [route] = getUpstreamRoutes()[model.slug] ?? [];
  if (route === undefined) return undefined;
  const margins = listPrices(model.definition).flatMap(([params, credits]) => {
    const costCents = computeCostCents(route, { prompt: '', ...params });
    if (costCents === null) return [];
    const revenueCents = credits * centsPerCredit;
    return [{ model: model.slug, params, revenueCents, costCents, ratio: (revenueCents - costCents) / revenueCents }];
  });
  return margins.toSorted((one, other) => one.ratio - other.ratio)[0];
}
