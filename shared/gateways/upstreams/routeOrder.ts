import type { GenerationParams, ModelDefinition, ModelSlug } from '../../spec/catalog.ts';
import { computeCostCents, getUpstreamRoutes, type UpstreamRoute } from './upstreamConfig.ts';

/**
 * Chooses the order in which the upstreams of a model are tried for one generation, by their positions in the catalog.
 * Among those that are not offline, the first one runs it.
 * @returns undefined for the order of the catalog.
 */
export function chooseRouteOrder(
  { slug, definition }: { slug: ModelSlug; definition: ModelDefinition },
  params: GenerationParams,
  random: () => number = Math.random,
): number[] | undefined {
  const { routing } = definition;
  if (routing === undefined) return undefined;
  const routes = getUpstreamRoutes()[slug] ?? [];
  return routing === 'cheapest' ? sortByCost(routes, params) : drawByWeight(routing, random);
}

/** Sorts by the cost of the run. Those whose cost is not known are last, in the order of the catalog. */
function sortByCost(routes: readonly UpstreamRoute[], params: GenerationParams): number[] {
  const costs = routes.map((route) => computeCostCents(route, { prompt: '', ...params }) ?? Number.MAX_VALUE);
  return [...costs.keys()].toSorted((one, other) => (costs[one] as number) - (costs[other] as number));
}

/**
 * Draws one after another, each with the probability of its weight among those that are left; weights of 0 are last.
 */
function drawByWeight(weights: readonly number[], random: () => number): number[] {
  const left = new Map(weights.entries());
  const order: number[] = [];
  while (left.size > 0) {
    let rest = random() * [...left.values()].reduce((sum, weight) => sum + weight, 0);
    const [position] = [...left].find(([, weight]) => (rest -= weight) < 0) ?? [...left][0]!;
    left.delete(position);
    order.push(position);
  }
  return order;
}
