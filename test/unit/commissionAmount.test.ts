import { expect } from 'chai';
import fc from 'fast-check';
import { commissionAmountCents } from '../../shared/domain/affiliates/commissions.ts';
import { generateReferralCode, normalizeEmail, parseReferralCode } from '../../shared/domain/affiliates/referrals.ts';

const computeCommission = (paidCents: number, netCents = paidCents, reversedCents = 0) =>
  commissionAmountCents({ paidCents, netCents, reversedCents });

describe('the commission of an invoice', () => {
  it('is 30 % of the net amount, in whole cents, rounded down', () => {
    const paid = [1, 3, 4, 7_200, 34_800, 34_801, 34_803, 34_804];
    expect(paid.map((cents) => computeCommission(cents))).to.deep.equal([
      0, 0, 1, 2_160, 10_440, 10_440, 10_440, 10_441,
    ]);
    expect(computeCommission(12_000, 10_000)).to.equal(3_000);
    expect(computeCommission(0)).to.equal(0);
  });

  it('decreases in proportion to the reversed amount', () => {
    expect(computeCommission(34_800, 34_800, 34_800)).to.equal(0);
    expect(computeCommission(34_800, 34_800, 17_400)).to.equal(5_220);
    expect(computeCommission(34_800, 34_800, 1)).to.equal(10_439);
    expect(computeCommission(12_000, 10_000, 4_000)).to.equal(2_000);
  });

  it('is exact for any amounts: at most 30 %, and less by less than a cent', () => {
    const cents = fc.integer({ min: 1, max: 2_000_000_000 });
    fc.assert(
      fc.property(
        cents,
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (paid, a, b) => {
          const net = Math.floor(paid * a);
          const reversed = Math.floor(paid * b);
          const share = BigInt(computeCommission(paid, net, reversed));
          const exact = 30n * BigInt(net) * BigInt(paid - reversed);
          const unit = 100n * BigInt(paid);
          return share * unit <= exact && (share + 1n) * unit > exact;
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe('a referral code', () => {
  it('has 12 characters, is case-insensitive, and does not repeat', () => {
    const codes = Array.from({ length: 5_000 }, generateReferralCode);
    for (const code of codes) expect(parseReferralCode(code.toUpperCase())).to.equal(code);
    expect(new Set(codes).size).to.equal(codes.length);
    for (const text of ['', 'abc', '../../etc/pas', `${codes[0]}x`, 'bcdfghjkmnp%'])
      expect(parseReferralCode(text)).to.equal(null);
  });

  it('does not count for the mailbox of its affiliate', () => {
    expect(normalizeEmail('Ada+second@Example.com')).to.equal(normalizeEmail('ada@example.com'));
    expect(normalizeEmail('a.d.a+x@googlemail.com')).to.equal(normalizeEmail('ada@gmail.com'));
    expect(normalizeEmail('a.da@example.com')).to.not.equal(normalizeEmail('ada@example.com'));
  });
});
