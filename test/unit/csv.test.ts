import { expect } from 'chai';
import { toCsvLine } from '../../shared/lib/csv.ts';

describe('a line of the ledger as CSV', () => {
  it('quotes cells with commas, quotes and line breaks', () => {
    expect(toCsvLine(['1', 'a, b', 'say "c"', 'd\ne', ''])).to.equal('1,"a, b","say ""c""","d\ne",\r\n');
  });

  it('contains no cell that a spreadsheet runs as a formula, and keeps negative numbers', () => {
    for (const text of ['=1+1', '+1', '@SUM(A1)', '-cmd', '\tx', '-1.5', '--1', '-8-1', '+8'])
      expect(toCsvLine([text]), text).to.equal(`'${text}\r\n`);
    expect(toCsvLine(['-8', '0'])).to.equal('-8,0\r\n');
    expect(toCsvLine(['=cmd(), "x"'])).to.equal(`"'=cmd(), ""x"""\r\n`);
  });
});
