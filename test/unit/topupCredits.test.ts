import { getPlanBySlug } from '../../shared/lib/catalog/catalog.ts';
import { expect } from 'chai';
import fc from 'fast-check';
import { TOPUP_MAX_CENTS, TOPUP_MIN_CENTS } from '../../shared/spec/limits.ts';
import { topupCredits } from '../../shared/spec/topupCredits.ts';

describe('topupCredits', () => {
  const plans = { lite: [600, 200], starter: [1200, 400], pro: [2900, 1100], studio: [7500, 3000] } as const;
  for (const [slug, [price, monthly]] of Object.entries(plans)) {
    it(`is floor(amount_cents x ${monthly} / ${price}) on ${slug}, exactly, for every amount that can be paid`, () => {
      const plan = getPlanBySlug(slug);
      for (let cents = TOPUP_MIN_CENTS; cents <= TOPUP_MAX_CENTS; cents += 1) {
        const exact = Number((BigInt(cents) * BigInt(monthly)) / BigInt(price));
        if (topupCredits(cents, plan) !== exact)
          expect.fail(`${cents} cents: ${topupCredits(cents, plan)}, not ${exact}`);
      }
    });
  }

  it('returns 1896 credits for 5000 cents on pro', () => {
    expect(topupCredits(5_000, getPlanBySlug('pro'))).to.equal(1896);
  });

  it('never returns fewer credits for a larger amount, nor more for the same amount in parts', () => {
    const cents = fc.integer({ min: TOPUP_MIN_CENTS, max: TOPUP_MAX_CENTS / 2 });
    fc.assert(
      fc.property(fc.constantFrom(...Object.keys(plans)), cents, cents, (slug, one, other) => {
        const credits = (amount: number) => topupCredits(amount, getPlanBySlug(slug));
        expect(credits(one + other)).to.be.at.least(credits(one) + credits(other));
        expect(credits(one + 1)).to.be.at.least(credits(one));
      }),
    );
  });
});
