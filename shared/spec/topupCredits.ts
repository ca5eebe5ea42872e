import type { Plan } from './plans.ts';

/**
 * Credits that a top-up buys at a plan's rate: `floor(amount_cents x monthly_credits / price_monthly_cents)`, exactly,
 * as all products are far below 2^53 (spec: Billing, Behaviour).
 */
export function topupCredits(amountCents: number, { monthlyCredits, priceMonthlyCents }: Plan): number {
  const product = amountCents * monthlyCredits;
  return (product - (product % priceMonthlyCents)) / priceMonthlyCents;
}
