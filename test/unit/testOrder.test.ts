import { expect } from 'chai';
import { sortForParallelRun } from '../harness/timings.ts';

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
    const files = ['g', 'c', 'new', 'b', 'a', 'd', 'f'].map(
      (name) => `test/${name < 'c' ? 'flows' : 'unit'}/${name}.test.ts`,
    );
    const sorted = sortForParallelRun(files, timings).map((file) => file.replace(/^test\/\w+\/|\.test\.ts$/g, ''));
    expect(sorted.join(' ')).to.equal('a d b new c f g');
    expect(sortForParallelRun([], {})).to.deep.equal([]);
  });
});
