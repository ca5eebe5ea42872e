import { expect } from 'chai';
import { addMonths, formatUtcDay } from '../../shared/lib/calendar.ts';

describe('addMonths', () => {
  const cases: [string, number, string][] = [
    ['2026-01-15', 1, '2026-02-15'],
    ['2026-01-31', 1, '2026-02-28'],
    ['2026-01-31', 2, '2026-03-31'],
    ['2026-01-31', 3, '2026-04-30'],
    ['2026-01-31', 13, '2027-02-28'],
    ['2028-01-31', 1, '2028-02-29'],
    ['2028-02-29', 12, '2029-02-28'],
    ['2028-02-29', 48, '2032-02-29'],
    ['2026-12-31', 2, '2027-02-28'],
    ['2026-11-30', 3, '2027-02-28'],
    ['2026-08-31', 1, '2026-09-30'],
    ['2026-03-31', -1, '2026-02-28'],
    ['2026-01-31', -2, '2025-11-30'],
    ['2100-01-30', 1, '2100-02-28'],
    ['2026-05-05', 0, '2026-05-05'],
  ];
  for (const [from, months, expected] of cases) {
    it(`returns ${expected} for ${from} plus ${months} months`, () => {
      const anchor = new Date(`${from}T23:59:59.999Z`);
      expect(addMonths(anchor, months).toISOString()).to.equal(`${expected}T23:59:59.999Z`);
      expect(formatUtcDay(anchor)).to.equal(from);
    });
  }

  it('splits a year into 12 consecutive periods for every first day', () => {
    for (let day = 0; day < 4 * 366; day += 1) {
      const anchor = new Date(Date.UTC(2026, 0, 1 + day, 12));
      const starts = Array.from({ length: 13 }, (_, index) => addMonths(anchor, index));
      for (const [index, start] of starts.entries()) {
        expect(start.getUTCMonth()).to.equal((anchor.getUTCMonth() + index) % 12);
        expect(start.getUTCDate()).to.be.at.most(anchor.getUTCDate());
      }
      expect((starts[12]?.getTime() ?? 0) - anchor.getTime()).to.be.within(364 * 86_400_000, 366 * 86_400_000);
    }
  });
});
