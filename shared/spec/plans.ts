/** Slug of a plan of the catalog. */
export type PlanSlug = string;

/** A variable with the Stripe prices of a plan, such as STRIPE_PRICE_PRO. */
export type PriceVariable = `STRIPE_PRICE_${string}`;

/** An annual plan (spec: Plan). Prices are integer cents; only the yearly one is ever charged. */
export interface Plan {
  slug: PlanSlug;
  name: string;
  priceMonthlyCents: number;
  priceYearlyCents: number;
  monthlyCredits: number;
  parallelLimit: number;
  features: readonly string[];
  /** True for the plan presented as the default. */
  highlight: boolean;
  /** True for a plan that is not offered any more. Its subscribers keep it. */
  hidden: boolean;
}

/** The four plans of the contract. */
export const DEFAULT_PLANS: readonly Plan[] = [
  definePlan('lite', 'Lite', 600, 200, 2),
  definePlan('starter', 'Starter', 1200, 400, 3),
  definePlan('pro', 'Pro', 2900, 1100, 5, { highlight: true }),
  definePlan('studio', 'Studio', 7500, 3000, 8),
];

/** Returns the name of the variable with the yearly Stripe prices of a plan. */
export function getPriceVariable(slug: PlanSlug): PriceVariable {
  return `STRIPE_PRICE_${slug.toUpperCase().replaceAll('-', '_')}`;
}

function definePlan(
  slug: PlanSlug,
  name: string,
  priceMonthlyCents: number,
  monthlyCredits: number,
  parallelLimit: number,
  { highlight = false } = {},
): Plan {
  return {
    slug,
    name,
    priceMonthlyCents,
    priceYearlyCents: 12 * priceMonthlyCents,
    monthlyCredits,
    parallelLimit,
    features: [
      `${monthlyCredits} credits every month`,
      `${parallelLimit} generations at a time`,
      'Video and image models on one balance',
      'REST API access with personal keys',
    ],
    highlight,
    hidden: false,
  };
}
