import { TOPUP_MAX_CENTS, TOPUP_MIN_CENTS } from '../../spec/limits.ts';
import type { Plan } from '../../spec/plans.ts';
import { topupCredits } from '../../spec/topupCredits.ts';
import { ConfigError } from '../config.ts';
import { readBoolean, readInteger, readList, readObject, readOptional, readText, requireName } from './fields.ts';

/** Parses the plans of the variable CATALOG. Every error is one sentence that names the path. */

const PATH = 'CATALOG/plans';
const SLUG = /^[a-z](?:[a-z0-9-]{0,38}[a-z0-9])?$/;
const FIELDS = ['name', 'price_monthly_cents', 'monthly_credits', 'parallel_limit', 'features', 'highlight', 'hidden'];

/** The year, which is charged at once, costs between 50 cents and 999,999.99 dollars: the limits of Stripe. */
const PRICE_CENTS = [5, 8_333_333] as const;
const CREDITS = [1, 10_000_000] as const;
const PARALLEL_LIMIT = [1, 1_000] as const;
/** Upper bound for the credits of one top-up: a balance is an integer of 32 bits. */
const TOPUP_CREDITS_MAX = 100_000_000;
const NAME_MAX_CHARACTERS = 40;
const FEATURE_MAX_CHARACTERS = 200;
const FEATURES_MAX = 12;
const PLANS_MAX = 100;
/** Products that a customer portal of Stripe offers at most. */
const OFFERED_PLANS_MAX = 10;

/**
 * Parses plans by slug. They are offered in the order in which they are written.
 * @throws ConfigError
 */
export function parsePlans(value: unknown): readonly Plan[] {
  const plans = Object.entries(readObject(PATH, value)).map(([slug, plan]) => parsePlan(slug, plan));
  if (plans.length === 0) throw new ConfigError(`${PATH} must contain a plan, or be left out for the default plans.`);
  if (plans.length > PLANS_MAX) throw new ConfigError(`${PATH} must contain at most ${PLANS_MAX} plans.`);
  const offered = plans.filter(({ hidden }) => !hidden);
  if (offered.length === 0) throw new ConfigError(`${PATH} must contain a plan that is not hidden.`);
  if (offered.length > OFFERED_PLANS_MAX) {
    throw new ConfigError(
      `${PATH} must contain at most ${OFFERED_PLANS_MAX} plans that are not hidden, because Stripe's customer portal offers no more.`,
    );
  }
  const [first, second] = plans.filter(({ highlight }) => highlight);
  if (first !== undefined && second !== undefined)
    throw new ConfigError(`${PATH}/${second.slug}/highlight must not be true, because that of ${first.slug} is.`);
  return plans;
}

function parsePlan(slug: string, value: unknown): Plan {
  requireName(PATH, slug, SLUG, 'up to 40 characters of a-z, 0-9 and -, from a letter to a letter or digit');
  const path = `${PATH}/${slug}`;
  const fields = readObject(path, value, FIELDS);
  const readSwitch = (name: 'highlight' | 'hidden') =>
    readOptional(fields[name], (given) => readBoolean(`${path}/${name}`, given)) ?? false;
  const priceMonthlyCents = readInteger(`${path}/price_monthly_cents`, fields['price_monthly_cents'], ...PRICE_CENTS);
  const monthlyCredits = readInteger(`${path}/monthly_credits`, fields['monthly_credits'], ...CREDITS);
  const parallelLimit = readInteger(`${path}/parallel_limit`, fields['parallel_limit'], ...PARALLEL_LIMIT);
  const features = readOptional(fields['features'], (given) => readFeatures(`${path}/features`, given));
  const plan: Plan = {
    slug,
    name: readText(`${path}/name`, fields['name'], NAME_MAX_CHARACTERS),
    priceMonthlyCents,
    priceYearlyCents: 12 * priceMonthlyCents,
    monthlyCredits,
    parallelLimit,
    features: features ?? buildDefaultFeatures(monthlyCredits, parallelLimit),
    highlight: readSwitch('highlight'),
    hidden: readSwitch('hidden'),
  };
  if (plan.highlight && plan.hidden)
    throw new ConfigError(`${path}/highlight must not be true, because the plan is hidden.`);
  checkTopupRate(path, plan);
  return plan;
}

/** Rejects a rate at which the smallest top-up buys nothing, or the largest one more than a balance can hold. */
function checkTopupRate(path: string, plan: Plan): void {
  if (topupCredits(TOPUP_MIN_CENTS, plan) < 1) {
    throw new ConfigError(
      `${path}/monthly_credits must be larger: at the rate of this plan, a top-up of ${TOPUP_MIN_CENTS} cents would buy no credit.`,
    );
  }
  if (topupCredits(TOPUP_MAX_CENTS, plan) > TOPUP_CREDITS_MAX) {
    throw new ConfigError(
      `${path}/monthly_credits must be smaller: at the rate of this plan, a top-up of ${TOPUP_MAX_CENTS} cents would buy more than ${TOPUP_CREDITS_MAX} credits.`,
    );
  }
}

function buildDefaultFeatures(monthlyCredits: number, parallelLimit: number): string[] {
  return [
    `${monthlyCredits} ${monthlyCredits === 1 ? 'credit' : 'credits'} every month`,
    `${parallelLimit} ${parallelLimit === 1 ? 'generation' : 'generations'} at a time`,
    'REST API access with personal keys',
  ];
}

function readFeatures(path: string, value: unknown): string[] {
  return readList(path, value, FEATURES_MAX).map((feature, index) =>
    readText(`${path}/${index}`, feature, FEATURE_MAX_CHARACTERS),
  );
}
