import { expect } from 'chai';
import { sortForParallelRun } from '../harness/timings.ts';

/** Sorts files of one letter or word by their times, and joins their names. */
function sort(timings: Record<string, number>, ...names: string[]): string {
  const getFolder = (name: string) => (timings[`flows/${name}`] === undefined ? 'unit' : 'flows');
  const files = names.map((name) => `test/${getFolder(name)}/${name}.test.ts`);
  return sortForParallelRun(files, timings)
    .map((file) => file.replace(/^test\/\w+\/|\.test\.ts$/g, ''))
    .join(' ');
}

describe('the order of the test files', () => {
  it('spreads the long files over the run, longest first, each with half of its share of the others', () => {
    const timings = {
      'flows/a': 120,
      'flows/b': 80,
      'unit/c': 40,
      'unit/d': 50,
      'unit/f': 10,
      'unit/g': 2,
    };
    expect(sort(timings, 'g', 'c', 'new', 'b', 'a', 'd', 'f')).to.equal('a d b new c f g');
    expect(sortForParallelRun([], {})).to.deep.equal([]);
  });

  it('keeps half of the others for the end, although a share is less than one of them', () => {
    const timings = { 'unit/a': 100, 'unit/b': 100, 'unit/c': 100, 'unit/d': 50, 'unit/e': 50, 'unit/f': 50 };
    expect(sort(timings, 'a', 'b', 'c', 'd', 'e', 'f')).to.equal('a d b c e f');
  });
});
