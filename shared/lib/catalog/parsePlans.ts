import Type, { type Static } from 'typebox';
import { TOPUP_MAX_CENTS, TOPUP_MIN_CENTS } from '../../spec/limits.ts';
import type { Plan } from '../../spec/plans.ts';
import { topupCredits } from '../../spec/topupCredits.ts';
import { ConfigError } from '../config.ts';
import { validateConfig } from '../configJson.ts';
import { LineText, Names, requireUsableName } from './fields.ts';

/** Parses the plans of the variable CATALOG. Every error is one sentence that names the path. */

const PATH = 'CATALOG/plans';
/** Upper bound for the credits of one top-up: a balance is an integer of 32 bits. */
const TOPUP_CREDITS_MAX = 100_000_000;
/** Products that a customer portal of Stripe offers at most. */
const OFFERED_PLANS_MAX = 10;

const DeclaredPlan = Type.Object(
  {
    name: LineText(40),
    /** The year, which is charged at once, costs between 50 cents and 999,999.99 dollars: the limits of Stripe. */
    price_monthly_cents: Type.Integer({ minimum: 5, maximum: 8_333_333 }),
    monthly_credits: Type.Integer({ minimum: 1, maximum: 10_000_000 }),
    parallel_limit: Type.Integer({ minimum: 1, maximum: 1_000 }),
    features: Type.Optional(Type.Array(LineText(200), { minItems: 1, maxItems: 12 })),
    highlight: Type.Optional(Type.Boolean()),
    hidden: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
);

const DeclaredPlans = Type.Record(Type.String(), DeclaredPlan, {
  ...Names(
    '^[a-z](?:[a-z0-9-]{0,38}[a-z0-9])?$',
    'up to 40 characters of a-z, 0-9 and -, from a letter to a letter or digit',
  ),
  maxProperties: 100,
  title: 'plans',
});

/**
 * Parses plans by slug. They are offered in the order in which they are written.
 * @throws ConfigError
 */
export function parsePlans(value: unknown): readonly Plan[] {
  const plans = Object.entries(validateConfig(PATH, value, DeclaredPlans)).map(([slug, plan]) => buildPlan(slug, plan));
  if (plans.length === 0) throw new ConfigError(`${PATH} must contain a plan, or be left out for the default plans.`);
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

function buildPlan(slug: string, declared: Static<typeof DeclaredPlan>): Plan {
  requireUsableName(PATH, slug);
  const path = `${PATH}/${slug}`;
  const { name, monthly_credits: monthlyCredits, parallel_limit: parallelLimit } = declared;
  const { price_monthly_cents: priceMonthlyCents, features, highlight = false, hidden = false } = declared;
  const plan: Plan = {
    slug,
    name,
    priceMonthlyCents,
    priceYearlyCents: 12 * priceMonthlyCents,
    monthlyCredits,
    parallelLimit,
    features: features ?? buildDefaultFeatures(monthlyCredits, parallelLimit),
    highlight,
    hidden,
  };
  if (highlight && hidden) throw new ConfigError(`${path}/highlight must not be true, because the plan is hidden.`);
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
