/** The four annual plans (spec: Plan). Prices are integer cents; only the yearly one is ever charged. */
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
}

export const PLAN_SLUGS = ['lite', 'starter', 'pro', 'studio'] as const;
export type PlanSlug = (typeof PLAN_SLUGS)[number];

export const PLANS: readonly Plan[] = [
  definePlan('lite', 'Lite', 600, 200, 2),
  definePlan('starter', 'Starter', 1200, 400, 3),
  definePlan('pro', 'Pro', 2900, 1100, 5, { highlight: true }),
  definePlan('studio', 'Studio', 7500, 3000, 8),
];

const PLAN_BY_SLUG = new Map<string, Plan>(PLANS.map((entry) => [entry.slug, entry]));

/** @throws Error when no such plan exists: a slug is validated, or was stored by us, before it gets here. */
export function getPlanBySlug(slug: string): Plan {
  const found = PLAN_BY_SLUG.get(slug);
  if (found === undefined) throw new Error(`No plan is called ${slug}.`);
  return found;
}

/**
 * Credits that a top-up buys at a plan's rate: `floor(amount_cents x monthly_credits / price_monthly_cents)`, exactly,
 * as all products are far below 2^53 (spec: Billing, Behaviour).
 */
export function topupCredits(amountCents: number, { monthlyCredits, priceMonthlyCents }: Plan): number {
  const product = amountCents * monthlyCredits;
  return (product - (product % priceMonthlyCents)) / priceMonthlyCents;
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
  };
}
