import type Stripe from 'stripe';
import { type Config, ConfigError } from '../../lib/config.ts';
import { getPriceVariable, type Plan, type PlanSlug } from '../../spec/plans.ts';
import { findOrNull, type StripeOptions } from './stripeClient.ts';
import { CURRENCY, type PlanPrices } from './stripeMappers.ts';

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

/** A start waits for the prices no longer than this. */
const REQUEST_OPTIONS = { timeout: 3_000, maxNetworkRetries: 0 };

/** Returns why a price cannot be that of a plan, as the end of a sentence; null if it can. */
export function findPriceProblem(price: Stripe.Price, { priceYearlyCents }: Plan): string | null {
  const { active: isActive, unit_amount: amount } = price;
  const problem = findTermsProblem(price);
  if (problem !== null) return problem;
  if (!isActive) return 'it is archived there';
  return amount === priceYearlyCents ? null : `it is ${amount} cents a year there, and the plan ${priceYearlyCents}`;
}

/** Returns why a price cannot be a former one of a plan, whose amount may differ. */
function findTermsProblem({ currency, recurring }: Stripe.Price): string | null {
  if (currency !== CURRENCY) return `it is in ${currency} there, not in ${CURRENCY}`;
  const isYearly = recurring?.interval === 'year' && recurring.interval_count === 1;
  return isYearly && recurring.usage_type === 'licensed' ? null : 'it is not charged once a year there';
}

/** Compares the configured prices of the plans with those at Stripe. */
export async function findPlanPriceProblem(stripe: Stripe, { prices, plans }: StripeOptions): Promise<string | null> {
  const findProblem = async (plan: Plan, priceId: string, isSold: boolean) => {
    const price = await findOrNull(stripe.prices.retrieve(priceId, {}, REQUEST_OPTIONS));
    if (price === null) return 'the Stripe account of STRIPE_SECRET_KEY has no such price';
    return isSold ? findPriceProblem(price, plan) : findTermsProblem(price);
  };
  const configured = plans.flatMap((plan) =>
    (prices[plan.slug] ?? []).map((priceId, index) => ({ plan, priceId, isSold: index === 0 })),
  );
  const problems = await Promise.all(
    configured.map(async ({ plan, priceId, isSold }) => {
      const problem = await findProblem(plan, priceId, isSold);
      return problem === null ? null : `${getPriceVariable(plan.slug)} must not contain ${priceId}: ${problem}.`;
    }),
  );
  const found = problems.filter((problem) => problem !== null);
  if (found.length === 0) return null;
  return `${found.join(' ')} npm run stripe:setup with the same CATALOG creates and prints the prices of its plans.`;
}
