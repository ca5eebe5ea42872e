import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import { transform } from 'esbuild';
import { ROOT } from '../../dev/local/environment/build.ts';
import { SQL_FILES } from '../../dev/build/programs.ts';
import { EXPLAINED } from '../../dev/mutation/explained.ts';
import { findReason, listMutants } from '../../dev/mutation/listMutants.ts';
import { applyEdit, toMutants } from '../../dev/mutation/mutant.ts';
import { listSqlEdits } from '../../dev/mutation/sqlMutants.ts';
import { findTests } from '../../dev/mutation/tests.ts';
import { buildInstrumented, listTsEdits, TypeChecker } from '../../dev/mutation/tsMutants.ts';

/** A compiler that only parses the texts, by their paths. */
function openParser(files: Record<string, string>): TypeChecker {
  const config = join(ROOT, 'tsconfig.mutation.json');
  const compilerOptions = { noResolve: true, noLib: true, types: [], allowImportingTsExtensions: true, noEmit: true };
  const texts = { ...files, [config]: JSON.stringify({ compilerOptions, files: Object.keys(files) }) };
  return new TypeChecker(config, new Map(Object.entries(texts)));
}

function changeSql(source: string): string[] {
  return toMutants('a.sql', source, listSqlEdits(source), 1).map(({ change }) => change);
}

describe('mutants of SQL', () => {
  it('change operators, numbers and booleans, and neither strings nor comments', () => {
    expect(changeSql(`SELECT a + 1 > 'x = 1', true -- a = b`)).to.deep.equal([
      '+ → -',
      '1 → 2',
      '> → >=',
      'true → false',
    ]);
  });

  it('replace each operand of a condition by what leaves it out', () => {
    expect(changeSql('DELETE FROM a WHERE b AND (c OR NOT d)')).to.deep.equal([
      'b → true',
      'AND → or',
      '(c OR NOT d) → true',
      'c → false',
      'OR → and',
      'NOT → nothing',
      'NOT d → false',
    ]);
  });

  it('leave out locks, conflicts and the order of rows', () => {
    expect(changeSql('SELECT b FROM a ORDER BY b FOR NO KEY UPDATE SKIP LOCKED;')).to.deep.equal([
      'ORDER BY b → nothing',
      'FOR NO KEY UPDATE SKIP LOCKED → nothing',
      'SKIP LOCKED → nothing',
    ]);
    expect(changeSql('INSERT INTO a VALUES (b) ON CONFLICT (b) DO NOTHING RETURNING b')).to.deep.equal([
      'ON CONFLICT (b) DO NOTHING → nothing',
    ]);
  });

  it('do not change assignments, BETWEEN and positions of columns', () => {
    expect(changeSql('UPDATE a SET b = c, d = e WHERE f BETWEEN g AND h')).to.deep.equal(['f BETWEEN g AND h → true']);
    expect(changeSql('SELECT a, b FROM c GROUP BY 1, 2')).to.deep.equal([]);
  });
});

describe('mutants of TypeScript', () => {
  const source = `
    export function f(a: number | null, b: boolean) {
      if (a === null || !b) return 0;
      save(a);
      return Math.min(a + 1, sql(\`SELECT x FROM y WHERE z > :z\`));
    }`;
  const path = join(ROOT, 'a.ts');
  const list = () => {
    const parser = openParser({ [path]: source });
    try {
      return toMutants('a.ts', source, listTsEdits(parser.parse(path)), 1);
    } finally {
      parser.close();
    }
  };

  it('change operators, conditions, literals, calls and the SQL in the source', () => {
    expect(list().map(({ line, change }) => `${line}: ${change}`)).to.have.members([
      '3: === → !==',
      '3: || → &&',
      '3: a === null || !b → true',
      '3: a === null || !b → false',
      '3: !b → b',
      '3: 0 → 1',
      '3: 0 → undefined',
      '4: save(a); → ;',
      '5: Math.min → Math.max',
      '5: + → -',
      '5: 1 → 2',
      '5: z > :z → true',
      '5: > → >=',
      '5: Math.min(a + 1, sql(`SELECT x FROM y WHERE z > :z`)) → undefined',
    ]);
  });

  it('are all in one text, in which one is active at a time', async () => {
    const mutants = list();
    const { code } = await transform(buildInstrumented(source, mutants), { loader: 'ts', format: 'cjs' });
    const run = (mutant: number, ...args: unknown[]) => {
      const exported: { exports: { f?: (...values: unknown[]) => unknown } } = { exports: {} };
      const saved: unknown[] = [];
      const save = (value: unknown) => saved.push(value);
      runInNewContext(`globalThis.mutant = ${mutant}; ${code}`, { module: exported, save, sql: () => Infinity });
      return [exported.exports.f?.(...args), saved];
    };
    const find = (change: string) => mutants.find((mutant) => mutant.change === change)?.id ?? -1;
    expect(run(0, 5, true)).to.deep.equal([6, [5]]);
    expect(run(find('+ → -'), 5, true)).to.deep.equal([4, [5]]);
    expect(run(find('save(a); → ;'), 5, true)).to.deep.equal([6, []]);
    expect(run(find('|| → &&'), 5, false)).to.deep.equal([6, [5]]);
  });
});

describe('mutation testing', () => {
  it('has tests that exist for all functions of the database', () => {
    for (const file of SQL_FILES) {
      const tests = findTests(file);
      expect(tests, file).not.to.deep.equal([]);
      for (const test of tests) expect(existsSync(join(ROOT, test)), test).to.equal(true);
    }
  });

  it('explains only mutants that exist', () => {
    const files = [...new Set(EXPLAINED.map(({ file }) => file))];
    const modules = files.filter((file) => file.endsWith('.ts')).map((file) => join(ROOT, file));
    const parser = openParser(Object.fromEntries(modules.map((module) => [module, readFileSync(module, 'utf8')])));
    try {
      const known = new Set(
        listMutants(files, parser).map(({ file, lineText, change }) => `${file}: ${lineText}: ${change}`),
      );
      const explained = EXPLAINED.flatMap(({ file, line, changes }) =>
        changes.map((change) => `${file}: ${line}: ${change}`),
      );
      expect(explained.filter((text) => !known.has(text))).to.deep.equal([]);
    } finally {
      parser.close();
    }
  });

  it('counts an explained mutant as such', () => {
    for (const { file, line, changes, reason } of EXPLAINED.slice(0, 1)) {
      const source = readFileSync(join(ROOT, file), 'utf8');
      const mutant = toMutants(file, source, listSqlEdits(source), 1).find(
        ({ lineText, change }) => lineText === line && changes.includes(change),
      );
      expect(mutant && findReason(mutant)).to.equal(reason);
      expect(mutant && applyEdit(source, mutant)).not.to.equal(source);
    }
  });
});
