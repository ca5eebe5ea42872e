import { COMMISSION_PERCENT } from '../../spec/limits.ts';

/** The money of one invoice, in cents. */
export interface InvoiceAmounts {
  paidCents: number;
  /** The part of the paid amount that is not tax. */
  netCents: number;
  /** The part of the paid amount that was refunded, or is disputed and not won back. */
  reversedCents: number;
}

/**
 * Returns an affiliate's share of an invoice: 30 % of its net amount, in proportion to the part of the payment that was
 * not reversed (spec: What the service does, 6). Rounded down to whole cents.
 */
export function commissionAmountCents({ paidCents, netCents, reversedCents }: InvoiceAmounts): number {
  if (paidCents <= 0) return 0;
  const kept = BigInt(Math.max(0, paidCents - reversedCents));
  // The product of three amounts may exceed the integers that a number represents exactly.
  return Number((BigInt(netCents) * BigInt(COMMISSION_PERCENT) * kept) / (100n * BigInt(paidCents)));
}
