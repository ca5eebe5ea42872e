import { copyFileSync, cpSync, existsSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import { type ProgramOptions, type ProgramResult, runProgram } from '../../dev/local/environment/program.ts';

/** Folder of the bundled processes. Each run of the tests has its own, so that two runs cannot disturb each other. */
export const BUNDLE = bundleFolder(process.env['TEST_FOLDER'] ?? '');

/** The programs that tests start, by the name of their file in the bundle. */
const PROGRAMS = {
  api: 'api/main.ts',
  worker: 'worker/main.ts',
  release: 'migrations/main.ts',
  admin: 'worker/cli/admin/main.ts',
  check: 'worker/cli/check/main.ts',
  rotateKeys: 'api/oauth/rotateKeys.ts',
  stripeSetup: 'dev/stripeSetup.ts',
  // Started from the file beside the program that needs it.
  thumbnailProcess: 'shared/gateways/media/thumbnailProcess.ts',
};

/** Programs that are started often: their compiled code is cached. */
const CACHED = ['api', 'worker', 'admin', 'check', 'stripeSetup'];

/** Packages that find their own files, or that are loaded on demand, stay outside of the bundle. */
const EXTERNAL = [
  '@aws-sdk/client-s3',
  '@bull-board/*',
  '@ffmpeg/core',
  '@opentelemetry/exporter-trace-otlp-http',
  '@opentelemetry/resources',
  '@opentelemetry/sdk-trace-node',
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
 * Bundles the programs of the service from the sources, each into one CommonJS file with a V8 code cache beside it.
 * Finding, reading and compiling some 1,800 modules is most of what starting a process costs: this saves two thirds of
 * it. End-to-end tests use the files of `npm run build` instead. A run within a test uses the bundle of the outer run.
 * @param folder scratch folder of this run of the tests.
 */
export async function bundlePrograms(folder: string): Promise<void> {
  const bundle = bundleFolder(folder);
  if (process.env['TEST_FOLDER'] !== undefined && existsSync(BUNDLE)) {
    symlinkSync(realpathSync(BUNDLE), bundle, 'dir');
    return;
  }
  await build({
    entryPoints: PROGRAMS,
    outdir: bundle,
    outExtension: { '.js': '.bundle.cjs' },
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    keepNames: true,
    minify: true,
    external: EXTERNAL,
    // A script from a code cache cannot import.
    supported: { 'dynamic-import': false },
    define: { 'import.meta.url': 'moduleUrl' },
    banner: { js: `const moduleUrl = require('node:url').pathToFileURL(__filename).href;` },
    logLevel: 'error',
  });
  // External packages are resolved from there.
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'), 'dir');
  copyFileSync('test/harness/loadBundle.cjs', join(bundle, 'loadBundle.cjs'));
  for (const name of ['styles', 'scripts']) cpSync(`api/web/${name}`, join(bundle, name), { recursive: true });
  cpSync('api/mcp/apps/page', join(bundle, 'page'), { recursive: true });
  writeFileSync(join(bundle, 'package.json'), '{ "type": "commonjs" }\n');
  for (const name of Object.keys(PROGRAMS)) {
    writeFileSync(join(bundle, `${name}.js`), `require('./loadBundle.cjs')('${name}');\n`);
  }
  await Promise.all(CACHED.map((name) => writeCodeCache(join(bundle, `${name}.js`))));
}

/** Runs a program without a configuration: it loads all modules, reports what is missing, and exits. */
async function writeCodeCache(program: string): Promise<void> {
  const env = { WRITE_CODE_CACHE: 'true', DATA_DIR: '/nonexistent' };
  await runProgram({ args: [program, 'find-account', 'a@example.com'], env });
}

/** Runs a bundled program to its end, as in a deployment. */
export function runBundled(
  name: keyof typeof PROGRAMS,
  args: readonly string[],
  { folder, ...options }: Pick<ProgramOptions, 'env' | 'cwd' | 'clockOffsetMs'> & { folder?: string },
): Promise<ProgramResult> {
  const bundle = folder === undefined ? BUNDLE : bundleFolder(folder);
  return runProgram({ args: [join(bundle, `${name}.js`), ...args], ...options });
}

function bundleFolder(folder: string): string {
  return join(folder, 'bundle');
}
