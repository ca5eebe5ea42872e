import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { createObservedBatcher, mockClock } from '../harness/observedBatcher.ts';

describe('a batcher with an interval', () => {
  const intervalMs = 5;
  const advance = mockClock();
  const pass = async (ms: number) => {
    advance(ms);
    await nextTurn();
  };

  it('runs the first item at once, and those that follow within the interval together at its end', async () => {
    const { submit, batches, seen } = createObservedBatcher({ intervalMs });
    void submit('a');
    await nextTurn();
    batches[0]?.end();
    void submit('b');
    await pass(intervalMs - 1);
    void submit('c');
    await nextTurn();
    expect(seen()).to.deep.equal([['a']]);
    await pass(1);
    expect(seen()).to.deep.equal([['a'], ['b', 'c']]);
  });

  it('runs an item at once after a pause of that length', async () => {
    const { submit, batches, seen } = createObservedBatcher({ intervalMs });
    for (const item of ['a', 'b']) {
      const answer = submit(item);
      await nextTurn();
      batches.at(-1)?.end();
      expect(await answer).to.equal(`${item}!`);
      await pass(intervalMs);
    }
    expect(seen()).to.deep.equal([['a'], ['b']]);
  });

  it('runs a full batch at once', async () => {
    const { submit, batches, seen } = createObservedBatcher({ intervalMs });
    const answers = [submit('a')];
    await nextTurn();
    batches[0]?.end();
    await nextTurn();
    answers.push(...['b', 'c', 'd', 'e'].map(submit));
    await nextTurn();
    batches[1]?.end();
    await nextTurn();
    expect(seen()).to.deep.equal([['a'], ['b', 'c', 'd']]);
    await pass(intervalMs);
    expect(seen()).to.deep.equal([['a'], ['b', 'c', 'd'], ['e']]);
    batches[2]?.end();
    expect(await Promise.all(answers)).to.deep.equal(['a!', 'b!', 'c!', 'd!', 'e!']);
  });

  it('runs fewer items than its minimum at once, and as many as it at the end of the interval', async () => {
    const { submit, seen } = createObservedBatcher({ intervalMs, intervalMinItems: 3, maxInFlight: 3 });
    void submit('a');
    await nextTurn();
    void submit('b');
    await nextTurn();
    expect(seen(), 'two items, of which one runs').to.deep.equal([['a'], ['b']]);
    void submit('c');
    await pass(intervalMs - 1);
    expect(seen(), 'three items, of which two run').to.deep.equal([['a'], ['b']]);
    await pass(1);
    expect(seen()).to.deep.equal([['a'], ['b'], ['c']]);
  });

  it('ends the interval when so many items have completed that fewer than its minimum are left', async () => {
    const { submit, batches, seen } = createObservedBatcher({ intervalMs, intervalMinItems: 3, maxInFlight: 3 });
    void submit('a');
    void submit('b');
    await nextTurn();
    void submit('c');
    await pass(1);
    expect(seen()).to.deep.equal([['a', 'b']]);
    batches[0]?.end();
    await nextTurn();
    await nextTurn();
    expect(seen()).to.deep.equal([['a', 'b'], ['c']]);
  });

  it('runs an item whose interval and time limit have passed together, because the process stood still', async () => {
    const waitTimeout = { timeoutMs: 100, createError: () => new Error('late') };
    const { submit, batches, seen } = createObservedBatcher({ intervalMs, waitTimeout });
    void submit('a');
    await nextTurn();
    batches[0]?.end();
    await nextTurn();
    const answer = submit('b');
    await nextTurn();
    await pass(waitTimeout.timeoutMs);
    expect(seen()).to.deep.equal([['a'], ['b']]);
    batches[1]?.end();
    expect(await answer).to.equal('b!');
  });

  it('waits for a batch that takes longer, and then runs what has gathered without another interval', async () => {
    const { submit, batches, seen } = createObservedBatcher({ intervalMs });
    const answers = [submit('a')];
    await nextTurn();
    answers.push(submit('b'));
    await pass(2 * intervalMs);
    answers.push(submit('c'));
    expect(seen()).to.deep.equal([['a']]);
    batches[0]?.end();
    await nextTurn();
    await nextTurn();
    expect(seen()).to.deep.equal([['a'], ['b', 'c']]);
    batches[1]?.end();
    expect(await Promise.all(answers)).to.deep.equal(['a!', 'b!', 'c!']);
  });
});
