import { expect } from 'chai';
import { formatTable, measureFigure, type Round } from '../../dev/bench/figure.ts';
import { type LoopClient, runLoop } from '../../dev/bench/load/loop.ts';

/** Returns a side that measures these rounds, one after the other, and notes each. */
function side(name: string, notes: string[], ...rounds: Round[]): () => Promise<Round> {
  return async () => {
    notes.push(name);
    return rounds.shift()!;
  };
}

const perSecond = (...values: number[]) => values.map((value) => ({ 'per second': value }));

describe('figures of the bench', () => {
  it('are the median of the ratios of alternating rounds, without the first round of each side', async () => {
    const notes: string[] = [];
    const figure = {
      name: 'create',
      ours: side('ours', notes, ...perSecond(1, 200, 150, 100)),
      bare: side('bare', notes, ...perSecond(100, 100, 100, 100)),
      target: [1.2, 1.6] as const,
    };
    const [row] = await measureFigure(figure, 3);
    expect(notes.join(' ')).to.equal('ours bare ours bare ours bare ours bare');
    expect(row).to.include({ value: 1.5, unit: 'ratio', required: 1.2, goal: 1.6, verdict: 'ok' });
    expect([row.rounds, row.ours, row.bare]).to.deep.equal([[2, 1.5, 1], { 'per second': 150 }, { 'per second': 100 }]);
    expect(formatTable([row])).to.match(
      /^create +1\.50 +1\.20 +1\.60 +ok +per second 150 : per second 100 +rounds 2 1\.5 1$/m,
    );
  });

  it('meet a target of times with less, and a target of throughput with more', async () => {
    const verdicts: string[] = [];
    for (const [by, value] of [
      ['per second', 3],
      ['per second', 1],
      ['p99 ms', 1],
      ['p99 ms', 3],
    ] as const) {
      const figure = { name: by, ours: async () => ({ [by]: value }), by, target: [2, 2] as const };
      verdicts.push((await measureFigure(figure, 1))[0].verdict);
    }
    expect(verdicts).to.deep.equal(['goal', 'missed', 'goal', 'missed']);
  });

  it('take quantiles of the times of each round, or of all rounds together', async () => {
    const rounds = [{ ms: [1, 1, 1, 1, 8] }, { ms: [1, 1, 1, 1, 2] }, { ms: [1, 1, 1, 1, 2] }];
    const measure = async (isPooled: boolean) => {
      const figure = {
        name: 'delay',
        ours: side('ours', [], ...rounds),
        bare: async () => ({ ms: [1] }),
        by: 'p99 ms',
        isWarm: true,
        isPooled,
      };
      return (await measureFigure(figure, 3))[0].value;
    };
    expect([await measure(false), await measure(true)]).to.deep.equal([2, 8]);
  });

  it('have no value on a machine that cannot measure them', async () => {
    const [row] = await measureFigure({ name: 'RSS', ours: async () => ({ 'peak MB': Number.NaN }), by: 'peak MB' }, 1);
    expect(row).to.include({ value: null, unit: 'MB', verdict: 'n/a' });
  });

  it('compare every number of a detailed figure in a row of its own', async () => {
    const figure = {
      name: 'list',
      ours: async () => ({ done: 9, 'per second': 2, 'api µs': 3 }),
      bare: async () => ({ done: 9, 'per second': 1, 'api µs': 6 }),
      isDetailed: true,
    };
    const rows = await measureFigure(figure, 1);
    expect(rows.map(({ name, value }) => [name, value])).to.deep.equal([
      ['list', 2],
      ['list: api µs', 0.5],
    ]);
  });
});

const answerAfter =
  (ms: number): LoopClient =>
  (done) =>
    void setTimeout(() => done(null), ms);

describe('load of the bench', () => {
  it('at a constant rate counts the time that a request waits for a free client', async () => {
    const { done, ms } = await runLoop([answerAfter(50)], 100, 50);
    expect(done).to.equal(5);
    expect(ms.at(-1)).to.be.above(5 * 50 - 4 * 20 - 20);
  });

  it('without a rate lets each client begin its next request when its last one has ended', async () => {
    const { done, ms } = await runLoop([answerAfter(20), answerAfter(20)], 100);
    expect(done).to.be.within(4, 12);
    expect(Math.min(...ms)).to.be.above(15);
  });

  it('fails with the first error of a client', async () => {
    const error = await runLoop([(done) => done(new Error('503 instead of 200'))], 10).catch((cause: Error) => cause);
    expect(error).to.have.property('message', '503 instead of 200');
  });
});
