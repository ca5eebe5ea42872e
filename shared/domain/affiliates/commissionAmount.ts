import { COMMISSION_PERCENT } from '../../spec/limits.ts';

/** The money of one invoice, in cents. */
export interface InvoiceAmounts {
  paidCents: number;
  /** Of what was paid, without tax. */
  netCents: number;
  /** Of what was paid: refunded, or disputed and not won back. */
  reversedCents: number;
}

/**
 * An affiliate's share of an invoice, in whole cents: 30 % of what it brought in net, in proportion to what of the
 * payment is here still (spec: What the service does, 6). Rounded down at the end; what it brought in net is in whole
 * cents before that.
 */
export function commissionAmountCents({ paidCents, netCents, reversedCents }: InvoiceAmounts): number {
  if (paidCents <= 0) return 0;
  const kept = BigInt(Math.max(0, paidCents - reversedCents));
  // The product of three amounts may be beyond what numbers hold exactly.
  return Number((BigInt(netCents) * BigInt(COMMISSION_PERCENT) * kept) / (100n * BigInt(paidCents)));
}
