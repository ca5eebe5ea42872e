import { getCatalog } from '../../lib/catalog/catalog.ts';
import type { ProcessorPayment } from '../../gateways/payments/index.ts';
import { topupCredits } from '../../spec/topupCredits.ts';
import type { Topup } from '../../tables/Topup.ts';

/** The amounts that were paid for a top-up, and the credits that they buy. */
export type PaidTopup = Pick<Topup, 'credits' | 'net_cents' | 'tax_cents' | 'discount_cents'>;

type Payment = Pick<ProcessorPayment, 'amountCents' | 'taxCents' | 'discountCents'>;
type Order = Pick<Topup, 'amount_cents' | 'credits'>;

/** Returns whether a payment is that of an order, with tax on top and discounts taken off. */
export function isPaymentOfOrder({ amountCents, taxCents, discountCents }: Payment, order: Order): boolean {
  return amountCents - taxCents + discountCents === order.amount_cents;
}

/**
 * Returns the amounts of a payment, and the credits that its net amount buys: tax buys none, and a discount reduces
 * price and credits alike. They may be below the minimum of an order.
 */
export function computePaidTopup({ amountCents, taxCents, discountCents }: Payment, order: Order): PaidTopup {
  const netCents = amountCents - taxCents;
  return {
    credits: computeNetCredits(netCents, order),
    net_cents: netCents,
    tax_cents: taxCents,
    discount_cents: discountCents,
  };
}

/** Returns the credits for an amount at the rate of an order, whose plan follows from its amount and its credits. */
function computeNetCredits(netCents: number, { amount_cents: amountCents, credits }: Order): number {
  const plan = getCatalog().plans.find((candidate) => topupCredits(amountCents, candidate) === credits);
  // The plan may have another rate by now.
  return plan === undefined ? Math.floor((credits * netCents) / amountCents) : topupCredits(netCents, plan);
}

/** Returns the net part of a reversed amount, rounded down, so that reversed tax takes no credits. */
export function computeReversedNetCents(topup: Topup, reversedCents: number): number {
  const netCents = getNetCents(topup);
  const totalCents = getTotalCents(topup);
  return Math.floor((netCents * Math.min(totalCents, reversedCents)) / totalCents);
}

/** Returns the paid amount of a top-up without tax and after discounts; what was ordered until it is paid. */
export function getNetCents({ net_cents: netCents, amount_cents: amountCents }: Topup): number {
  return netCents ?? amountCents;
}

/** Returns the amount of a top-up with tax and after discounts; what was ordered until it is paid. */
export function getTotalCents(topup: Topup): number {
  return getNetCents(topup) + (topup.tax_cents ?? 0);
}
