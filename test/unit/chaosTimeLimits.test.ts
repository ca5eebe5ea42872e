import { expect } from 'chai';
import { checkFirstSuccess, checkSettled } from '../../dev/chaos/heal.ts';
import { findBrokenGuarantees } from '../../dev/chaos/timeGuarantees.ts';

const HEALED = { at: 1_000_000, firstCreateMs: null };

/** Speed of a machine that is slow during a period only. */
const slowUntil = (until: number, slowness: number) => ({
  slownessBetween: (_from: number, to: number) => (to <= until ? slowness : 1),
});

const find = (firstSuccessMs: number | null, speed = slowUntil(0, 1)) =>
  checkFirstSuccess({ ...HEALED, firstSuccessMs }, speed).map(({ invariant, detail }) => `${invariant}: ${detail}`);

const findBroken = (measuredMs: number | null, slowness: number) => {
  const guarantee = {
    invariant: 'taken-over-in-time' as const,
    target: 'worker 1',
    limitMs: 15_000,
    longest: 'a video',
    count: 1,
  };
  return findBrokenGuarantees([{ ...guarantee, measuredMs, slowness }]).map(({ detail }) => detail);
};

describe('the limit of the first success after healing', () => {
  it('is 10 s on an idle machine', () => {
    expect(find(10_000)).to.deep.equal([]);
    expect(find(10_001)).to.deep.equal(['first-success: 10001 ms, on a machine slowed down 1.0 times']);
  });

  it('is longer by as much as the machine was slowed down until then', () => {
    const speed = slowUntil(HEALED.at + 20_001, 2);
    expect(find(20_000, speed)).to.deep.equal([]);
    expect(find(20_001, speed)).to.deep.equal(['first-success: 20001 ms, on a machine slowed down 2.0 times']);
    expect(find(20_002, speed)).to.have.length(1);
  });

  it('is exceeded if no request ever succeeds, however slow the machine is', () => {
    const speed = slowUntil(Number.POSITIVE_INFINITY, 100);
    expect(find(null, speed)).to.deep.equal(['first-success: never, on a machine slowed down 100.0 times']);
  });
});

describe('the limit until all work has settled after healing', () => {
  it('is longer by as much as the machine was slowed down', () => {
    const speed = slowUntil(HEALED.at + 240_001, 2);
    const check = (settledMs: number | null, pendingWork: string[] = []) =>
      checkSettled({ at: HEALED.at, settledMs }, speed, pendingWork).map(({ detail }) => detail);
    expect(check(120_000)).to.deep.equal([]);
    expect(check(240_000)).to.deep.equal([]);
    expect(check(240_001)).to.deep.equal(['240001 ms, on a machine slowed down 2.0 times']);
    expect(check(null, ['1 webhooks'])).to.deep.equal(['never, on a machine slowed down 2.0 times, 1 webhooks']);
  });

  it('is 120 s on an idle machine', () => {
    expect(checkSettled({ at: HEALED.at, settledMs: 120_000 }, slowUntil(0, 1), [])).to.deep.equal([]);
    expect(checkSettled({ at: HEALED.at, settledMs: 120_001 }, slowUntil(0, 1), [])).to.have.length(1);
  });
});

describe('the limit of a guarantee in wall-clock time', () => {
  it('is longer by as much as the machine was slowed down', () => {
    expect(findBroken(30_000, 2)).to.deep.equal([]);
    expect(findBroken(30_001, 2)).to.have.length(1);
  });

  it('is exceeded by an abandoned measurement, unless it is longer than the minute that was waited', () => {
    expect(findBroken(null, 3.9)).to.deep.equal([
      'never (a video), the longest of 1, on a machine slowed down 3.9 times',
    ]);
    expect(findBroken(null, 4)).to.deep.equal([]);
  });
});
