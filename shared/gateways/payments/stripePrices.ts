import type Stripe from 'stripe';
import { getPriceVariable, type Plan } from '../../spec/plans.ts';
import type { PaymentProcessor } from './paymentProcessor.ts';
import { CURRENCY, type PlanPrices } from './stripeMappers.ts';
import { findOrNull } from './stripeResponses.ts';

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

interface PriceContext {
  stripe: Stripe;
  prices: PlanPrices;
  plans: readonly Plan[];
}

/** Builds the method that compares the configured prices with those at Stripe. */
export function buildPriceMethods({
  stripe,
  prices,
  plans,
}: PriceContext): Pick<PaymentProcessor, 'findPlanPriceProblem'> {
  const findProblem = async (plan: Plan, priceId: string, isSold: boolean) => {
    const price = await findOrNull(stripe.prices.retrieve(priceId, {}, REQUEST_OPTIONS));
    if (price === null) return 'the Stripe account of STRIPE_SECRET_KEY has no such price';
    return isSold ? findPriceProblem(price, plan) : findTermsProblem(price);
  };
  return {
    findPlanPriceProblem: async () => {
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
    },
  };
}
