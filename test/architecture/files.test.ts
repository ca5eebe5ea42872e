import { readdirSync, readFileSync } from 'node:fs';
import { basename, join, relative } from 'node:path';
import { expect } from 'chai';
import { packages, ROOT, sources } from './sources.ts';

/** File names that do not describe their contents. */
const BANNED_FILE_NAMES = ['util', 'utils', 'helper', 'helpers', 'common', 'manager'];
const FILE_LINES_MAX = 500;
const FOLDERS = ['.ci', '.github', 'api', 'dev', 'docs', 'migrations', 'packages', 'shared', 'test', 'worker'];

/** Installed, built and generated files. */
const EXCLUDED =
  /(?:^|\/)(?:node_modules|dist)\/|^packages\/(?:client\/src\/schema\.ts|python\/src\/genmeter\/types\.py)$/;

/** `shared/lib/redisProbe.ts` consists of `redis` and `probe`. */
function splitIntoWords(path: string): string[] {
  const words = basename(path)
    .replace(/\.\w+$/, '')
    .split(/(?=[A-Z])|[-_.]/);
  return words.map((word) => word.toLowerCase());
}

/** Lists code, tests, stylesheets and documents; no generated or installed files. */
function listFiles(): string[] {
  const inFolders = FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(ROOT, join(entry.parentPath, entry.name))),
  );
  return [...readdirSync(ROOT), ...inFolders].filter(
    (path) => /\.(?:tsx?|mjs|cjs|js|css|py|sql|md)$/.test(path) && !EXCLUDED.test(path),
  );
}

describe('files', () => {
  it('file names describe the contents of the file', () => {
    const named = [...sources, ...packages].filter(({ path }) =>
      splitIntoWords(path).some((word) => BANNED_FILE_NAMES.includes(word)),
    );
    expect(named.map(({ path }) => path)).to.deep.equal([]);
  });

  it('have at most 500 lines', () => {
    const tooLong = listFiles()
      .map((path) => ({ path, lines: readFileSync(join(ROOT, path), 'utf8').trimEnd().split('\n').length }))
      .filter(({ lines }) => lines > FILE_LINES_MAX)
      .map(({ path, lines }) => `${path} has ${lines} lines`);
    expect(
      tooLong,
      `A file holds one subject in at most ${FILE_LINES_MAX} lines; move tables of data into a file beside it.`,
    ).to.deep.equal([]);
  });

  it('contract tests start no worker: those that need one belong to test/flows', () => {
    const startsWorker = /\bstart(?:Test|TestMode|Billing|Suite)Service\((?![^;]*\bworkers: 0\b)/;
    const withWorkers = readdirSync(join(ROOT, 'test/contract')).filter((name) =>
      startsWorker.test(readFileSync(join(ROOT, 'test/contract', name), 'utf8')),
    );
    expect(withWorkers).to.deep.equal([]);
  });
});
