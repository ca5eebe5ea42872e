import { spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { bundleModules } from '../harness/moduleBundle.ts';
import { findImports, isUnder, ROOT, sources } from './sources.ts';

/** Main modules, which read the environment and pass it to `parseConfig`. */
const PROGRAMS = [
  'api/main.ts',
  'api/oauth/rotateKeys.ts',
  'migrations/main.ts',
  'worker/cli/admin/main.ts',
  'worker/cli/check/main.ts',
  'worker/main.ts',
];

describe('deployed modules', () => {
  it('api and worker contain no SQL', () => {
    expect(
      findImports(isUnder('api', 'worker'), (imported) => ['knex', 'objection', 'pg'].includes(imported)),
    ).to.deep.equal([]);
    const executors = ['pool', 'preparedStatements', 'runInBatches'].map((name) => `shared/lib/database/${name}.ts`);
    expect(sources.map(({ path }) => path)).to.include.members(executors);
    expect(findImports(isUnder('api', 'worker'), (imported) => executors.includes(imported))).to.deep.equal([]);
    const queries = sources.filter(
      ({ path, text }) => isUnder('api', 'worker')(path) && /\bdb\.(?!destroy\b|ts\b)|\bdb\(|\.query\(/.test(text),
    );
    expect(queries.map(({ path }) => path)).to.deep.equal([]);
  });

  it('tables are defined in shared/tables only', () => {
    const tables = sources.filter(({ text }) => /\bextends Model\b/.test(text)).map(({ path }) => path);
    expect(tables.filter((path) => !isUnder('shared/tables')(path))).to.deep.equal([]);
  });

  it('process.env is read by main modules only, and each passes it to parseConfig', () => {
    const readers = sources.filter(
      ({ text, imports }) => /\bprocess\s*(\.|\?\.|\[)\s*['"]?env\b/.test(text) || imports.includes('node:process'),
    );
    // The one that strips it for a child process: it passes on where programs and libraries are, and no setting.
    const stripping = 'shared/gateways/media/decoderEnvironment.ts';
    expect(readers.map(({ path }) => path)).to.have.members([...PROGRAMS, stripping]);
    for (const { text } of readers.filter(({ path }) => path !== stripping)) {
      const rest = text.replaceAll(/(parseConfig|openCommandService|runAdminCommand)\(process\.env\b/g, '');
      expect(rest).to.not.include('process.env');
    }
  });

  it('importing a module has no effect: no error without a configuration, no output, nothing left open', async () => {
    const modules = sources.map(({ path }) => path).filter((path) => !PROGRAMS.includes(path));
    // Scripts for the browser are read as files.
    const imported = modules.filter(
      (path) => !/thumbnailProcess|\.d\.ts$|^api\/(?:web\/scripts|mcp\/apps\/page)\//.test(path),
    );
    const bundle = await bundleModules(mkdtempSync(join(tmpdir(), 'deployed-')), imported);
    const script = `for (const importModule of Object.values(require(${JSON.stringify(bundle)}))) importModule();`;
    const child = spawnSync(process.execPath, ['-e', script], {
      cwd: ROOT,
      env: { PATH: process.env['PATH'] },
      encoding: 'utf8',
      timeout: 60_000,
    });
    // A handle that was left open would keep it from ending by itself.
    expect([child.status, child.stdout, child.stderr]).to.deep.equal([0, '', '']);
  });
});
