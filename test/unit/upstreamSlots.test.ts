import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { UpstreamSlots } from '../../shared/domain/generations/execution/upstreamSlots.ts';

const BYTES_MAX = 100;

describe('the slots of an upstream', () => {
  let slots: UpstreamSlots;
  /** Generations in the order in which their tasks started. */
  let started: string[];
  let ends: Map<string, () => void>;
  let resizes: Map<string, (bytes: number) => boolean>;
  beforeEach(() => {
    slots = new UpstreamSlots(2, BYTES_MAX);
    started = [];
    ends = new Map();
    resizes = new Map();
  });

  function add(generationId: string, options: { isAwaited?: boolean; bytes?: number } = {}): void {
    slots.add({
      generationId,
      ...options,
      run: (resize) => {
        started.push(generationId);
        resizes.set(generationId, resize);
        return new Promise<void>((resolve) => ends.set(generationId, resolve));
      },
    });
  }

  async function end(generationId: string): Promise<void> {
    ends.get(generationId)?.();
    await pause(0);
  }

  it('run as many tasks as there are, in the order of their arrival', async () => {
    for (const id of ['a', 'b', 'c', 'd']) add(id);
    expect(started).to.deep.equal(['a', 'b']);
    await end('b');
    expect(started).to.deep.equal(['a', 'b', 'c']);
    await end('a');
    expect(started).to.deep.equal(['a', 'b', 'c', 'd']);
  });

  it('run a task with a waiting reader first, also if it was added before without one', async () => {
    for (const id of ['a', 'b', 'c', 'd']) add(id);
    add('d', { isAwaited: true });
    await end('a');
    await end('b');
    expect(started).to.deep.equal(['a', 'b', 'd', 'c']);
  });

  it('run a task once that was added twice while it waited, and again if it was added while it ran', async () => {
    for (const id of ['a', 'b', 'c', 'c', 'a']) add(id);
    for (const id of ['a', 'b', 'c', 'a']) await end(id);
    expect(started).to.deep.equal(['a', 'b', 'c', 'a']);
  });

  it('are free again after a task that failed', async () => {
    for (const id of ['a', 'b'])
      slots.add({ generationId: id, run: () => Promise.reject(new Error('failed by a test')) });
    add('c');
    await pause(0);
    expect(started).to.deep.equal(['c']);
  });

  it('hold back a task without space, and those behind it, until the space is free', async () => {
    add('a', { bytes: 60 });
    add('b', { bytes: 50 });
    add('c', { bytes: 10 });
    expect(started).to.deep.equal(['a']);
    await end('a');
    expect(started).to.deep.equal(['a', 'b', 'c']);
  });

  it('share their space with work that has no slot, and start what waits for it', async () => {
    const other = slots.hold(60);
    expect(slots.hasRoom(50)).to.equal(false);
    add('a', { bytes: 50 });
    expect(other.resize(40)).to.equal(true);
    expect(started).to.deep.equal([]);
    other.release();
    expect(started).to.deep.equal(['a']);
    const late = slots.hold();
    expect(late.resize(51)).to.equal(false);
    expect(late.resize(50)).to.equal(true);
  });

  it('give a running task more space only while there is some, and a lone one as much as it needs', async () => {
    add('a', { bytes: 10 });
    add('b', { bytes: 10 });
    expect(resizes.get('a')?.(90)).to.equal(true);
    expect(resizes.get('b')?.(11)).to.equal(false);
    expect(resizes.get('b')?.(5)).to.equal(true);
    await end('b');
    expect(resizes.get('a')?.(BYTES_MAX + 1)).to.equal(true);
  });
});
