import { getOfferedModels } from '../../../shared/lib/catalog/catalog.ts';
import { listPrices } from '../../../shared/lib/catalog/price.ts';
import type { CatalogModel, GenerationParams, ModelKind } from '../../../shared/spec/catalog.ts';

/** Texts about models and prices in the descriptions of tools. */

/** Most prices that a text lists one by one. */
const LISTED_PRICES_MAX = 4;

/** Prices of one or more models: by the number of seconds, or the lowest and the highest. */
type Prices = { seconds: [seconds: number, credits: number][] } | { least: number; most: number };

/** Returns the models that a tool offers, in catalog order. */
export function listOfferedModels(kind: ModelKind): CatalogModel[] {
  return getOfferedModels().filter((model) => model.kind === kind);
}

/** Describes prices for a sentence: `35 credits for 5 seconds and 70 for 10`. */
export function describePrice(models: readonly CatalogModel[], separator = ' and '): string {
  const prices = computePrices(models);
  if ('seconds' in prices) {
    const [[firstSeconds, firstCredits] = [0, 0], ...others] = prices.seconds;
    const rest = others.map(([seconds, credits]) => `${credits} for ${seconds}`);
    return [`${firstCredits} credits for ${firstSeconds} seconds`, ...rest].join(separator);
  }
  const { least, most } = prices;
  return least === most ? formatCredits(least) : `${least} to ${formatCredits(most)}`;
}

/** Describes prices briefly after the noun: `35 (5 seconds) or 70 (10 seconds)`. */
export function describePriceBriefly(models: readonly CatalogModel[]): string {
  const prices = computePrices(models);
  if ('seconds' in prices) return joinOr(prices.seconds.map(([seconds, credits]) => `${credits} (${seconds} seconds)`));
  return prices.least === prices.most ? String(prices.least) : `${prices.least} to ${prices.most}`;
}

/** Describes the durations of a video for a sentence: ` of 5 or 10 seconds`; empty if they are not a short list. */
export function describeDurations([model, ...others]: readonly CatalogModel[]): string {
  const durations = model?.definition.params['duration']?.enum;
  if (others.length > 0 || durations === undefined || durations.length > LISTED_PRICES_MAX) return '';
  return ` of ${joinOr(durations.map(String))} seconds`;
}

export function joinOr(parts: readonly string[]): string {
  return parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} or ${parts.at(-1)}`;
}

export function formatCredits(count: number): string {
  return `${count} ${count === 1 ? 'credit' : 'credits'}`;
}

function computePrices(models: readonly CatalogModel[]): Prices {
  const least = Math.min(...models.map(({ creditsBase }) => creditsBase));
  const most = Math.max(...models.map(({ creditsMax }) => creditsMax));
  const [model, ...others] = models;
  const isSingle = model !== undefined && others.length === 0;
  const seconds = isSingle && least !== most ? groupBySeconds(listPrices(model.definition)) : undefined;
  return seconds === undefined ? { least, most } : { seconds };
}

/** Returns the price of each duration, or undefined if it depends on other parameters as well. */
function groupBySeconds(prices: [GenerationParams, number][]): [number, number][] | undefined {
  const bySeconds = new Map<unknown, number>();
  for (const [{ duration }, credits] of prices) {
    if ((bySeconds.get(duration) ?? credits) !== credits) return undefined;
    bySeconds.set(duration, credits);
  }
  const isListed = bySeconds.size <= LISTED_PRICES_MAX && !bySeconds.has(undefined);
  return isListed ? ([...bySeconds] as [number, number][]) : undefined;
}
