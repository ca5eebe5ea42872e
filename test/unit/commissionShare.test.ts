import { expect } from 'chai';
import fc from 'fast-check';
import { shareOf } from '../../shared/domain/affiliates/share.ts';
import { asCode, newCode } from '../../shared/domain/affiliates/codes.ts';
import { mailboxOf } from '../../shared/domain/affiliates/mailbox.ts';

const of = (paidCents: number, netCents = paidCents, reversedCents = 0) =>
  shareOf({ paidCents, netCents, reversedCents });

describe("an affiliate's share", () => {
  it('is 30 % of what was paid net, in whole cents, rounded down', () => {
    const paid = [1, 3, 4, 7_200, 34_800, 34_801, 34_803, 34_804];
    expect(paid.map((cents) => of(cents))).to.deep.equal([0, 0, 1, 2_160, 10_440, 10_440, 10_440, 10_441]);
    expect(of(12_000, 10_000)).to.equal(3_000);
    expect(of(0)).to.equal(0);
  });

  it('shrinks in proportion to what went back', () => {
    expect(of(34_800, 34_800, 34_800)).to.equal(0);
    expect(of(34_800, 34_800, 17_400)).to.equal(5_220);
    expect(of(34_800, 34_800, 1)).to.equal(10_439);
    expect(of(12_000, 10_000, 4_000)).to.equal(2_000);
  });

  it('is exact for any amounts: never more than 30 %, by less than a cent less', () => {
    const cents = fc.integer({ min: 1, max: 2_000_000_000 });
    fc.assert(
      fc.property(
        cents,
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (paid, a, b) => {
          const net = Math.floor(paid * a);
          const reversed = Math.floor(paid * b);
          const share = BigInt(of(paid, net, reversed));
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
  it('is 12 characters, is read in any case of letters, and does not repeat', () => {
    const codes = Array.from({ length: 5_000 }, newCode);
    for (const code of codes) expect(asCode(code.toUpperCase())).to.equal(code);
    expect(new Set(codes).size).to.equal(codes.length);
    for (const text of ['', 'abc', '../../etc/pas', `${codes[0]}x`, 'bcdfghjkmnp%'])
      expect(asCode(text)).to.equal(null);
  });

  it('does not count for the mailbox of who made it', () => {
    expect(mailboxOf('Ada+second@Example.com')).to.equal(mailboxOf('ada@example.com'));
    expect(mailboxOf('a.d.a+x@googlemail.com')).to.equal(mailboxOf('ada@gmail.com'));
    expect(mailboxOf('a.da@example.com')).to.not.equal(mailboxOf('ada@example.com'));
  });
});
