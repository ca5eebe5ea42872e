import { expect } from 'chai';
import fc from 'fast-check';
import { addMonths, formatUtcDay } from '../../shared/lib/calendar.ts';

const DAY_MS = 86_400_000;

/** Returns the number of days of a month. */
function countDaysInMonth(year: number, month: number): number {
  if (month !== 2) return [4, 6, 9, 11].includes(month) ? 30 : 31;
  return year % 400 === 0 || (year % 4 === 0 && year % 100 !== 0) ? 29 : 28;
}

const two = (number: number) => String(number).padStart(2, '0');

/** Adds months by counting one at a time, on the text of the date. The time of day stays. */
function model(anchor: Date, months: number): string {
  const [, years = '', monthOfYear = '', day = '', time = ''] =
    /^(\d{4})-(\d\d)-(\d\d)T(.*)$/.exec(anchor.toISOString()) ?? [];
  let [year, month] = [Number(years), Number(monthOfYear)];
  for (let left = Math.abs(months); left > 0; left -= 1) {
    month += Math.sign(months);
    if (month === 13) [year, month] = [year + 1, 1];
    if (month === 0) [year, month] = [year - 1, 12];
  }
  return `${year}-${two(month)}-${two(Math.min(Number(day), countDaysInMonth(year, month)))}T${time}`;
}

describe('addMonths, compared with counting on a calendar', () => {
  const anchor = fc.oneof(
    fc.date({ min: new Date('1990-01-01'), max: new Date('2150-12-31'), noInvalidDate: true }),
    // Last days of all months, including leap years and centuries that are not leap years.
    fc
      .record({
        year: fc.oneof(fc.constantFrom(2000, 2024, 2028, 2096, 2100), fc.integer({ min: 1990, max: 2150 })),
        month: fc.integer({ min: 1, max: 12 }),
        fromEnd: fc.integer({ min: 0, max: 3 }),
        ms: fc.oneof(fc.constantFrom(0, DAY_MS - 1), fc.integer({ min: 0, max: DAY_MS - 1 })),
      })
      .map(
        ({ year, month, fromEnd, ms }) =>
          new Date(Date.UTC(year, month - 1, countDaysInMonth(year, month) - fromEnd) + ms),
      ),
  );

  it('is the same day and time, or the last day of a shorter month', () => {
    fc.assert(
      fc.property(anchor, fc.integer({ min: -300, max: 300 }), (from, months) => {
        expect(addMonths(from, months).toISOString()).to.equal(model(from, months));
      }),
      { numRuns: 20_000 },
    );
  });

  it('makes consecutive periods without a gap, twelve per year', () => {
    fc.assert(
      fc.property(anchor, (from) => {
        const ends = Array.from({ length: 49 }, (_, index) => addMonths(from, index).getTime());
        for (let index = 1; index < ends.length; index += 1) {
          expect((ends[index]! - ends[index - 1]!) / DAY_MS).to.be.within(28, 31);
        }
        expect((ends[12]! - ends[0]!) / DAY_MS).to.be.within(365, 366);
        // Four years contain a leap day, except around 2100.
        expect((ends[48]! - ends[0]!) / DAY_MS).to.be.within(1460, 1461);
      }),
      { numRuns: 2_000 },
    );
  });

  it('does not change its anchor', () => {
    const from = new Date('2028-01-31T12:00:00.000Z');
    addMonths(from, 1);
    expect(from.toISOString()).to.equal('2028-01-31T12:00:00.000Z');
    expect(formatUtcDay(from)).to.equal('2028-01-31');
  });
});
