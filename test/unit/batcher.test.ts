import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { createBatcher } from '../../shared/lib/batcher.ts';
import { createObservedBatcher, mockClock } from '../harness/observedBatcher.ts';

const getMessage = (error: Error) => error.message;

describe('a batcher', () => {
  it('runs a single item alone and returns its result', async () => {
    const { submit, batches, seen } = createObservedBatcher();
    const answer = submit('a');
    await nextTurn();
    expect(seen()).to.deep.equal([['a']]);
    batches[0]?.end();
    expect(await answer).to.equal('a!');
  });

  it('runs items that arrive while it is busy as one batch, in order, up to the maximum size', async () => {
    const { submit, batches, seen } = createObservedBatcher();
    const answers = [submit('a')];
    await nextTurn();
    for (const item of ['b', 'c', 'd', 'e']) answers.push(submit(item));
    await nextTurn();
    expect(seen()).to.deep.equal([['a']]);
    for (let index = 0; index < 3; index += 1) {
      batches[index]?.end();
      await nextTurn();
      await nextTurn();
    }
    expect(seen()).to.deep.equal([['a'], ['b', 'c', 'd'], ['e']]);
    expect(await Promise.all(answers)).to.deep.equal(['a!', 'b!', 'c!', 'd!', 'e!']);
  });

  it('never runs more batches at the same time than allowed', async () => {
    let atWork = 0;
    let most = 0;
    const submit = createBatcher<number, number>({
      maxItems: 2,
      maxInFlight: 3,
      run: async (items) => {
        atWork += 1;
        most = Math.max(most, atWork);
        await nextTurn();
        atWork -= 1;
        return items.map((item) => item * 2);
      },
    });
    const items = Array.from({ length: 50 }, (_, index) => index);
    expect(await Promise.all(items.map(submit))).to.deep.equal(items.map((item) => item * 2));
    expect([most, atWork]).to.deep.equal([3, 0]);
  });

  it('runs items with the same key one after another, without delaying others', async () => {
    const { submit, batches, seen } = createObservedBatcher({ maxInFlight: 2, getKey: (item) => item[0] });
    const answers = ['a1', 'a2', 'b1', 'a3'].map(submit);
    await nextTurn();
    expect(seen()).to.deep.equal([['a1', 'b1']]);
    answers.push(submit('c1'), submit('b2'));
    await nextTurn();
    expect(seen()).to.deep.equal([['a1', 'b1'], ['c1']]);
    for (let index = 0; index < 4; index += 1) {
      batches[index]?.end();
      await nextTurn();
      await nextTurn();
    }
    expect(seen().slice(2)).to.deep.equal([['a2', 'b2'], ['a3']]);
    expect(await Promise.all(answers)).to.deep.equal(['a1!', 'a2!', 'b1!', 'a3!', 'c1!', 'b2!']);
  });

  it('runs items with the same key in one batch if they share batches, but never in two at a time', async () => {
    const options = { maxInFlight: 2, getKey: (item: string) => item[0], keysShareBatch: true } as const;
    const { submit, batches, seen } = createObservedBatcher(options);
    const answers = ['a1', 'a2', 'b1'].map(submit);
    await nextTurn();
    answers.push(...['a3', 'c1', 'a4'].map(submit));
    await nextTurn();
    expect(seen()).to.deep.equal([['a1', 'a2', 'b1'], ['c1']]);
    batches[0]?.end();
    await nextTurn();
    await nextTurn();
    answers.push(submit('a5'));
    await nextTurn();
    expect(seen().slice(2)).to.deep.equal([['a3', 'a4']]);
    for (let index = 1; index < 4; index += 1) {
      batches[index]?.end();
      await nextTurn();
      await nextTurn();
    }
    expect(seen().slice(3)).to.deep.equal([['a5']]);
    expect(await Promise.all(answers)).to.deep.equal(['a1!', 'a2!', 'b1!', 'a3!', 'c1!', 'a4!', 'a5!']);
  });

  it('lets items wait that share a key with a running batch and did not fit into it', async () => {
    const options = { maxInFlight: 2, getKey: (item: string) => item[0], keysShareBatch: true } as const;
    const { submit, batches, seen } = createObservedBatcher(options);
    const answers = ['a1', 'a2', 'a3', 'a4', 'b1', 'a5'].map(submit);
    await nextTurn();
    await nextTurn();
    expect(seen()).to.deep.equal([['a1', 'a2', 'a3'], ['b1']]);
    batches[0]?.end();
    await nextTurn();
    await nextTurn();
    expect(seen().slice(2)).to.deep.equal([['a4', 'a5']]);
    for (const batch of batches) batch.end();
    expect(await Promise.all(answers)).to.deep.equal(['a1!', 'a2!', 'a3!', 'a4!', 'b1!', 'a5!']);
  });

  it('repeats the items of a rejected batch one by one, those with the same key one after another', async () => {
    const running = new Set<string>();
    const submit = createBatcher<string, string>({
      maxItems: 4,
      maxInFlight: 1,
      getKey: (item) => item[0],
      keysShareBatch: true,
      isItemError: () => true,
      run: async (items) => {
        if (items.length > 1) throw new Error('one of them');
        const [item = ''] = items;
        expect([...running].some((other) => other[0] === item[0])).to.equal(false);
        running.add(item);
        await nextTurn();
        running.delete(item);
        return [`${item}!`];
      },
    });
    const items = ['a1', 'a2', 'b1', 'a3'];
    expect(await Promise.all(items.map(submit))).to.deep.equal(items.map((item) => `${item}!`));
  });

  it('rejects the items of a failed batch and continues with the next', async () => {
    const { submit, batches } = createObservedBatcher({ getKey: (item) => item });
    const outcomes = Promise.allSettled([submit('a'), submit('b'), submit('a')]);
    await nextTurn();
    batches[0]?.fail(new Error('no connection'));
    await nextTurn();
    await nextTurn();
    batches[1]?.end();
    expect(
      (await outcomes).map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : outcome.reason.message)),
    ).to.deep.equal(['no connection', 'no connection', 'a!']);
  });

  it('rejects the items of a batch whose run function throws synchronously', async () => {
    const submit = createBatcher<string, string>({
      maxItems: 1,
      maxInFlight: 1,
      run: () => {
        throw new Error('at once');
      },
    });
    for (const item of ['a', 'b']) {
      expect(await submit(item).catch((error: Error) => error.message)).to.equal('at once');
    }
  });

  describe('with a wait timeout', () => {
    const LATE = 'no turn in time';
    const waitTimeout = { timeoutMs: 50, createError: () => new Error(LATE) };
    const pass = mockClock();

    it('rejects items that waited too long, whether the batch succeeds or fails, and never runs them', async () => {
      const { submit, batches, seen } = createObservedBatcher({ waitTimeout });
      const first = submit('a');
      await nextTurn();
      const late = [submit('b').catch(getMessage), submit('c').catch(getMessage)];
      pass(waitTimeout.timeoutMs);
      expect(await Promise.all(late)).to.deep.equal([LATE, LATE]);
      const next = submit('d');
      batches[0]?.end();
      expect(await first).to.equal('a!');
      await nextTurn();
      batches[1]?.end();
      expect(await next).to.equal('d!');
      expect(seen()).to.deep.equal([['a'], ['d']]);
    });

    it('rejects items that wait for the same key, and continues with the next item of that key', async () => {
      const { submit, batches, seen } = createObservedBatcher({
        waitTimeout,
        maxInFlight: 2,
        getKey: (item) => item[0],
      });
      const first = submit('a1');
      await nextTurn();
      const late = [submit('a2').catch(getMessage), submit('a3').catch(getMessage)];
      pass(waitTimeout.timeoutMs - 1);
      const next = submit('a4');
      pass(1);
      expect(await Promise.all(late)).to.deep.equal([LATE, LATE]);
      batches[0]?.end();
      expect(await first).to.equal('a1!');
      await nextTurn();
      batches[1]?.end();
      expect(await next).to.equal('a4!');
      expect(seen()).to.deep.equal([['a1'], ['a4']]);
    });

    it('continues with the next item of a key when one was rejected', async () => {
      const { submit, batches, seen } = createObservedBatcher({ waitTimeout, getKey: (item) => item[0] });
      const first = submit('b1');
      await nextTurn();
      const late = submit('a1').catch(getMessage);
      pass(waitTimeout.timeoutMs - 1);
      const next = submit('a2');
      pass(1);
      expect(await late).to.equal(LATE);
      batches[0]?.end();
      expect(await first).to.equal('b1!');
      await nextTurn();
      batches[1]?.end();
      expect(await next).to.equal('a2!');
      expect(seen()).to.deep.equal([['b1'], ['a2']]);
    });

    it('does not reject items that are running, however long they take', async () => {
      const { submit, batches } = createObservedBatcher({ waitTimeout });
      const answer = submit('a');
      await nextTurn();
      pass(2 * waitTimeout.timeoutMs);
      batches[0]?.end();
      expect(await answer).to.equal('a!');
    });

    it('does not reject waiting items while others complete', async () => {
      const { submit, batches } = createObservedBatcher({ waitTimeout, getKey: (item) => item[0] });
      const answers = [submit('a1')];
      await nextTurn();
      answers.push(submit('a2'), submit('a3'), submit('b1'));
      // Each batch takes 30 ms; the wait timeout is 50 ms.
      for (let index = 0; index < 3; index += 1) {
        pass(30);
        batches[index]?.end();
        await nextTurn();
        await nextTurn();
      }
      expect(await Promise.all(answers)).to.deep.equal(['a1!', 'a2!', 'a3!', 'b1!']);
    });

    it('rejects items whose own key makes no progress while others complete', async () => {
      const { submit, batches } = createObservedBatcher({ waitTimeout, maxInFlight: 2, getKey: (item) => item[0] });
      const stuck = submit('a1');
      await nextTurn();
      const late = submit('a2').catch(getMessage);
      const others = [submit('b1')];
      await nextTurn();
      pass(30);
      batches[1]?.end();
      await nextTurn();
      pass(20);
      expect(await late).to.equal(LATE);
      batches[0]?.end();
      expect(await Promise.all([stuck, ...others])).to.deep.equal(['a1!', 'b1!']);
    });
  });
});
