import { expect } from 'chai';
import { computePace } from '../../shared/domain/generations/execution/pollPace.ts';

describe('the pace of polls', () => {
  it('begins shortly before the shortest runs end, with a tenth of the usual run between polls', () => {
    const pace = computePace({ shortest: 100, median: 60, longest: 200 });
    expect(pace).to.deep.equal({ first: 90, gap: 6, until: 200 });
  });

  it('has at least 2 seconds between polls, and at most 8', () => {
    expect(computePace({ shortest: 11, median: 12, longest: 14 }).gap).to.equal(2);
    expect(computePace({ shortest: 300, median: 400, longest: 500 }).gap).to.equal(8);
  });

  it('leaves out the first polls of short runs, and moves none', () => {
    expect(computePace({ shortest: 6.1, median: 6.2, longest: 8.2 }).first).to.equal(4);
    expect(computePace({ shortest: 0.9, median: 1, longest: 1.2 }).first).to.equal(2);
  });
});
