import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { ByteQueue, UpstreamSlots } from '../../shared/domain/generations/execution/upstreamSlots.ts';
import { resetDraining, startDraining } from '../../shared/lib/drain.ts';
import { captureError } from '../harness/expectRejection.ts';

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

describe('the memory that submits share', () => {
  let memory: ByteQueue;
  /** Submits in the order in which they received memory. */
  let started: string[];
  let releases: Map<string, () => void>;
  beforeEach(() => {
    memory = new ByteQueue(BYTES_MAX);
    started = [];
    releases = new Map();
  });
  afterEach(() => resetDraining());

  async function acquire(name: string, bytes: number, timeoutMs = 60_000): Promise<void> {
    releases.set(name, await memory.acquire(bytes, timeoutMs));
    started.push(name);
  }

  async function release(name: string): Promise<void> {
    releases.get(name)?.();
    await pause(0);
  }

  it('goes to them in the order of their arrival, also to a large one in a steady flow of small ones', async () => {
    const all = ['small 1', 'small 2', 'large', 'small 3', 'small 4'].map((name) =>
      acquire(name, name === 'large' ? 90 : 20),
    );
    await pause(0);
    expect(started).to.deep.equal(['small 1', 'small 2']);
    await release('small 2');
    expect(started).to.deep.equal(['small 1', 'small 2']);
    await release('small 1');
    expect(started).to.deep.equal(['small 1', 'small 2', 'large']);
    await release('large');
    await Promise.all(all);
    expect(started.slice(3)).to.deep.equal(['small 3', 'small 4']);
  });

  it('goes to one that is alone, however large it is', async () => {
    await acquire('larger than all', BYTES_MAX + 1);
    const next = acquire('next', 1);
    await pause(0);
    expect(started).to.deep.equal(['larger than all']);
    await release('larger than all');
    await next;
  });

  it('goes to the next one after one that has waited for too long', async () => {
    await acquire('first', 50);
    const late = captureError(acquire('late', 60, 10));
    const next = acquire('next', 50);
    expect((await late).message).to.equal('timed out waiting for memory');
    await next;
    expect(started).to.deep.equal(['first', 'next']);
  });

  it('goes to none that waits, or asks, when the process stops', async () => {
    await acquire('first', 50);
    const waiting = [captureError(acquire('large', 60)), captureError(acquire('small', 10))];
    startDraining();
    const asking = captureError(acquire('new', 10));
    for (const error of await Promise.all([...waiting, asking])) expect(error.message).to.equal('the process stops');
    await release('first');
    expect(started).to.deep.equal(['first']);
  });
});
