import { expect } from 'chai';
import fc from 'fast-check';
import {
  computePaidTopup,
  computeReversedNetCents,
  getTotalCents,
  isPaymentOfOrder,
} from '../../shared/domain/billing/topupAmounts.ts';
import { TOPUP_MAX_CENTS, TOPUP_MIN_CENTS } from '../../shared/spec/limits.ts';
import { DEFAULT_PLANS } from '../../shared/spec/plans.ts';
import { topupCredits } from '../../shared/spec/topupCredits.ts';
import type { Topup } from '../../shared/tables/Topup.ts';

const ORDER = { amount_cents: 5_000, credits: 1_896 };
const pay = (amountCents: number, taxCents = 0, discountCents = 0) => ({ amountCents, taxCents, discountCents });

describe('the amounts of a paid top-up', () => {
  it('buy the ordered credits, whatever tax comes on top', () => {
    for (const tax of [0, 1, 950]) {
      expect(isPaymentOfOrder(pay(5_000 + tax, tax), ORDER)).to.equal(true);
      expect(computePaidTopup(pay(5_000 + tax, tax), ORDER)).to.deep.equal({
        credits: 1_896,
        net_cents: 5_000,
        tax_cents: tax,
        discount_cents: 0,
      });
    }
  });

  it('buy the credits of the net amount at the rate of the plan after a discount', () => {
    // Not floor(1896 x 4000 / 5000), which is 1516.
    expect(computePaidTopup(pay(4_000, 0, 1_000), ORDER).credits).to.equal(1_517);
    expect(computePaidTopup(pay(4_760, 760, 1_000), ORDER)).to.deep.equal({
      credits: 1_517,
      net_cents: 4_000,
      tax_cents: 760,
      discount_cents: 1_000,
    });
    // The smallest payment that Stripe accepts.
    expect(computePaidTopup(pay(50, 0, 4_950), ORDER).credits).to.equal(18);
  });

  it('buy a proportional part if the plan has another rate by now', () => {
    expect(computePaidTopup(pay(2_500, 0, 2_500), { amount_cents: 5_000, credits: 1_111 }).credits).to.equal(555);
  });

  it('are those of the order only if order, discount and tax add up', () => {
    expect(isPaymentOfOrder(pay(4_000), ORDER)).to.equal(false);
    expect(isPaymentOfOrder(pay(4_500, 0, 500), ORDER)).to.equal(true);
    expect(isPaymentOfOrder(pay(5_000, 950), ORDER)).to.equal(false);
  });

  it('are those of the order until they are known', () => {
    const topup = { amount_cents: 5_000, net_cents: null, tax_cents: null } as Topup;
    expect(getTotalCents(topup)).to.equal(5_000);
    expect(computeReversedNetCents(topup, 2_500)).to.equal(2_500);
  });

  it('are reversed by a refund at most in proportion, and completely by a full refund', () => {
    const amounts = fc.record({
      plan: fc.constantFrom(...DEFAULT_PLANS),
      ordered: fc.integer({ min: TOPUP_MIN_CENTS, max: TOPUP_MAX_CENTS }),
      discountPercent: fc.integer({ min: 0, max: 98 }),
      taxPercent: fc.integer({ min: 0, max: 30 }),
      refundPart: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    fc.assert(
      fc.property(amounts, ({ plan, ordered, discountPercent, taxPercent, refundPart }) => {
        const discount = Math.round((ordered * discountPercent) / 100);
        const tax = Math.round(((ordered - discount) * taxPercent) / 100);
        const total = ordered - discount + tax;
        const paid = computePaidTopup(pay(total, tax, discount), {
          amount_cents: ordered,
          credits: topupCredits(ordered, plan),
        });
        const topup = { amount_cents: ordered, ...paid } as Topup;
        const refunded = Math.floor(total * refundPart);
        const net = computeReversedNetCents(topup, refunded);
        expect(net * total).to.be.at.most(refunded * (total - tax));
        expect(computeReversedNetCents(topup, total)).to.equal(total - tax);
        // A reversal is never over more than was paid.
        expect(computeReversedNetCents(topup, 2 * total)).to.equal(total - tax);
      }),
    );
  });
});
