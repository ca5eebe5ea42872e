import { type Config, ConfigError } from '../../lib/config.ts';
import { getPriceVariable, type PlanSlug } from '../../spec/plans.ts';
import type { PlanPrices } from './stripeMappers.ts';

const PRICES = /^price_[^\s,]+( *, *price_[^\s,]+)*$/;

/**
 * Reads the Stripe prices of plans from their variables: first the price that is sold, then former ones.
 * @throws ConfigError if prices are missing or invalid, or belong to two plans.
 */
export function parsePlanPrices(config: Config, slugs: readonly PlanSlug[]): PlanPrices {
  const variables = slugs.map((slug) => ({ slug, name: getPriceVariable(slug) }));
  const missing = variables.filter(({ name }) => config[name] === undefined).map(({ name }) => name);
  if (missing.length > 0) {
    throw new ConfigError(
      `${missing.join(', ')} ${missing.length === 1 ? 'is' : 'are'} not set, but STRIPE_SECRET_KEY is: npm run stripe:setup with the same CATALOG creates and prints the prices of its plans.`,
    );
  }
  const owners = new Map<string, string>();
  for (const { name } of variables) {
    const value = config[name] as string;
    if (!PRICES.test(value)) {
      throw new ConfigError(
        `${name} must be a Stripe price id, price_..., optionally followed by former prices, separated by commas.`,
      );
    }
    for (const price of splitPrices(value)) {
      const owner = owners.get(price) ?? name;
      if (owner !== name && config.CATALOG !== undefined)
        throw new ConfigError(`${name} must not contain ${price}, which is also in ${owner}.`);
      owners.set(price, name);
    }
  }
  return Object.fromEntries(variables.map(({ slug, name }) => [slug, splitPrices(config[name] as string)]));
}

function splitPrices(prices: string): string[] {
  return prices.split(',').map((price) => price.trim());
}
