import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { transform } from 'esbuild';
import { SEEDED_BUGS } from '../../dev/chaos/seededBugs/bugs.ts';
import { applyCodeChange, type CodeChange, parseCodeChanges } from '../../dev/chaos/seededBugs/codeChange.ts';
import { ROOT } from '../../dev/local/environment/build.ts';
import { INVARIANTS } from '../../shared/domain/integrity/index.ts';

function readFolder(folder: string): string {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.(?:ts|sql)$/.test(path) && !path.startsWith('seededBugs'))
    .map((path) => readFileSync(join(ROOT, folder, path), 'utf8'))
    .join('\n');
}

/** The files that the changes touch, with all of them applied in order. */
function applyChanges(changes: readonly CodeChange[]): Map<string, string> {
  const files = new Map<string, string>();
  for (const change of changes) {
    const source = files.get(change.file) ?? readFileSync(join(ROOT, change.file), 'utf8');
    files.set(change.file, applyCodeChange(source, change));
  }
  return files;
}

describe('seeded bugs', () => {
  for (const { name, changes } of SEEDED_BUGS) {
    it(`"${name}" fits the current source, and changed TypeScript is valid`, async () => {
      for (const [file, changed] of applyChanges(changes))
        if (!file.endsWith('.sql')) await transform(changed, { loader: 'ts' });
    });
  }

  it('name only invariants that exist', () => {
    const sources = ['dev/chaos', 'test/fakes/stripe'].map(readFolder).join('\n');
    const invariants = new Set(INVARIANTS.map(({ name }) => name));
    const unknown = SEEDED_BUGS.flatMap(({ foundBy }) => foundBy).filter(
      (name) => !invariants.has(name) && !sources.includes(`'${name}'`),
    );
    expect(unknown).to.deep.equal([]);
  });

  it('drop only indexes that the migrations create', () => {
    const migrations = readFolder('migrations');
    const dropped = SEEDED_BUGS.flatMap(({ sql }) => sql.flatMap((text) => /^DROP INDEX (\w+)/.exec(text)?.[1] ?? []));
    expect(dropped).to.have.length.above(2);
    expect(dropped.filter((index) => !migrations.includes(`INDEX ${index} ON`))).to.deep.equal([]);
  });
});

function apply(source: string, change: Partial<CodeChange>): string {
  return applyCodeChange(source, { file: 'a.ts', find: '', replace: '', ...change });
}

describe('applyCodeChange', () => {
  it('ignores white space, comments, quotes and trailing commas', () => {
    const source = 'const a = call(\n  "x", // why\n  1,\n);\n';
    expect(apply(source, { find: `call('x', 1)`, replace: 'other()' })).to.equal('const a = other();\n');
  });

  it('matches any identifier for a placeholder, and inserts it into the replacement', () => {
    const source = 'if (start === null || start < end) stop();';
    expect(apply(source, { find: '$at === null || $at < $end', replace: '$end < $at' })).to.equal(
      'if (end < start) stop();',
    );
    expect(() => apply(source, { find: '$at === null || $at < $at' })).to.throw('0 times instead of once');
    expect(() => apply(source, { find: '$at === null', replace: '$end' })).to.throw('has no $end');
  });

  it('searches only the declaration that is named', () => {
    const source = 'function one() {\n  return 1;\n}\n\nexport const two = () => {\n  return 1;\n};\n';
    expect(apply(source, { within: 'two', find: 'return 1', replace: 'return 2' })).to.match(/return 1[^]*return 2/);
    expect(() => apply(source, { find: 'return 1' })).to.throw('a.ts contains "return 1" 2 times');
    expect(() => apply(source, { within: 'three', find: 'return 1' })).to.throw('declares no three');
  });
});

describe('parseCodeChanges', () => {
  it('separates the changes, which may have several lines, no declaration, or no replacement', () => {
    const text = `
      a/b.ts one: if ($a) stop(); -->
        go();
      c.sql: AND x = 'y' -->`;
    expect(parseCodeChanges(text)).to.deep.equal([
      { file: 'a/b.ts', within: 'one', find: 'if ($a) stop();', replace: 'go();' },
      { file: 'c.sql', within: undefined, find: `AND x = 'y'`, replace: '' },
    ]);
    expect(() => parseCodeChanges('a.ts: x')).to.throw('is not a change');
  });
});
