import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** The programs of a deployment, by the name of their bundle. */
export const PROGRAMS = {
  api: 'api/main.ts',
  worker: 'worker/main.ts',
  release: 'migrations/main.ts',
  admin: 'worker/cli/admin/main.ts',
  check: 'worker/cli/check/main.ts',
  rotateKeys: 'api/oauth/rotateKeys.ts',
  sampleUpstream: 'dev/sampleUpstream/main.ts',
};

const ROOT = join(import.meta.dirname, '../..');
export const SQL_FILES = readdirSync(join(ROOT, 'shared/domain'), { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.sql'))
  .map((path) => `shared/domain/${path}`);

const MIGRATIONS = readdirSync(join(ROOT, 'migrations'))
  .filter((name) => !name.endsWith('.ts'))
  .map((name) => `migrations/${name}`);

/** Files and folders that programs read at run time, from beside their own file. */
export const ASSETS = ['docs', 'api/web/styles', 'api/web/scripts', 'api/mcp/apps/page', ...SQL_FILES, ...MIGRATIONS];
