import { build } from 'esbuild';

/** Where the tests' processes are started from. */
export const BUNDLE = 'dist/bundle';

/** What is found by its place among the modules, or loaded only where it is needed, stays outside. */
const OUTSIDE = [
  '@aws-sdk/client-s3',
  '@bull-board/*',
  '@ffmpeg/core',
  'sharp',
  'stripe',
  'swagger-ui-dist',
  // Databases that knex knows, and nobody has installed.
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
 * Writes the built processes with the libraries that they load into a few files. To find and read some 1,800 modules is
 * half of what the start of a process costs, and the tests start hundreds; what runs is the code of `dist` all the same.
 * Whoever wants the files of `dist` themselves (chaos, the bench, the test of `npm start`) starts those.
 */
export async function bundleProcesses(): Promise<void> {
  await build({
    entryPoints: {
      api: 'dist/api/main.js',
      worker: 'dist/worker/main.js',
      // Started as a file of its own, beside whoever asks for it.
      thumbnailProcess: 'dist/shared/gateways/media/thumbnailProcess.js',
    },
    outdir: BUNDLE,
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    keepNames: true,
    external: OUTSIDE,
    banner: {
      js: `import { createRequire as requireHere } from 'node:module'; const require = requireHere(import.meta.url);`,
    },
    logLevel: 'error',
  });
}
