import { expect } from 'chai';
import { sortForParallelRun } from '../harness/timings.ts';

describe('the order of the test files', () => {
  it('starts as much work beside each long file as it takes itself, longest first', () => {
    const timings = {
      'flows/a': 60,
      'flows/b': 40,
      'unit/c': 20,
      'unit/d': 25,
      'unit/e': 20,
      'unit/f': 5,
      'unit/g': 1,
    };
    const files = ['g', 'c', 'new', 'b', 'a', 'd', 'f', 'e'].map(
      (name) => `test/${name < 'c' ? 'flows' : 'unit'}/${name}.test.ts`,
    );
    const sorted = sortForParallelRun(files, timings).map((file) => file.replace(/^test\/\w+\/|\.test\.ts$/g, ''));
    expect(sorted.join(' ')).to.equal('a d c e b new f g');
    expect(sortForParallelRun([], {})).to.deep.equal([]);
  });
});
