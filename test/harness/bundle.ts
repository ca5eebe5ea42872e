import { symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';

/** Folder of the bundled processes. Each run of the tests has its own, so that two runs cannot disturb each other. */
export const BUNDLE = bundleFolder(process.env['TEST_FOLDER'] ?? '');

/** The programs that tests start, by the name of their file in the bundle. */
const PROGRAMS = {
  api: 'api/main.ts',
  worker: 'worker/main.ts',
  release: 'migrations/main.ts',
  admin: 'worker/admin/main.ts',
  check: 'worker/check/main.ts',
  rotateKeys: 'api/oauth/rotateKeys.ts',
  // Started from the file beside the program that needs it.
  thumbnailProcess: 'shared/gateways/media/thumbnailProcess.ts',
};

/** Packages that find their own files, or that are loaded on demand, stay outside of the bundle. */
const EXTERNAL = [
  '@aws-sdk/client-s3',
  '@bull-board/*',
  '@ffmpeg/core',
  'sharp',
  'stripe',
  'swagger-ui-dist',
  // Database drivers that knex supports and this project does not install.
  'better-sqlite3',
  'mariadb/callback',
  'mysql',
  'mysql2',
  'oracledb',
  'pg-native',
  'pg-query-stream',
  'sqlite3',
  'tedious',
];

/**
 * Bundles the programs of the service straight from the sources. Finding and reading some 1,800 modules is half of what
 * starting a process costs. End-to-end tests use the files of `npm run build` instead.
 * @param folder scratch folder of this run of the tests.
 */
export async function bundlePrograms(folder: string): Promise<void> {
  await build({
    entryPoints: PROGRAMS,
    outdir: bundleFolder(folder),
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    keepNames: true,
    external: EXTERNAL,
    banner: {
      js: `import { createRequire as requireHere } from 'node:module'; const require = requireHere(import.meta.url);`,
    },
    logLevel: 'error',
  });
  // What stays outside is found from there.
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'), 'dir');
}

function bundleFolder(folder: string): string {
  return join(folder, 'bundle');
}
