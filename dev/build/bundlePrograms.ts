import { copyFileSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { build } from 'esbuild';
import { runProgram } from '../local/environment/program.ts';
import { ASSETS, PROGRAMS } from './programs.ts';

/** Programs that another one starts, from the file beside its own. */
const HELPERS = {
  thumbnailProcess: 'shared/gateways/media/thumbnailProcess.ts',
  renderWorker: 'dev/sampleUpstream/renderWorker.ts',
};

/** Would not end without a configuration. */
const UNCACHED = ['sampleUpstream'];

/** Packages that find their own files, or that are loaded on demand, stay outside of the bundles. */
const EXTERNAL_PACKAGES = [
  '@aws-sdk/client-s3',
  '@aws-sdk/s3-request-presigner',
  '@bull-board/*',
  '@ffmpeg/core',
  '@mediabunny/aac-encoder',
  '@opentelemetry/exporter-trace-otlp-http',
  '@opentelemetry/resources',
  '@opentelemetry/sdk-trace-node',
  'mediabunny',
  'sharp',
  'stripe',
  'swagger-ui-dist',
];

/** Database drivers that knex supports and this project does not install. */
export const DATABASE_DRIVERS = [
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

export interface BundleOptions {
  /** Root of the sources. */
  root: string;
  /** Receives `bundles/`, and for each program the file that starts it, such as `api/main.js`. */
  folder: string;
  /** Programs beside those of a deployment. */
  otherPrograms?: Record<string, string>;
  /** Flags of node with which a program is started. */
  getFlags: (name: string) => readonly string[];
}

/**
 * Bundles each program, with all that it imports, into one CommonJS file without white space, and writes its V8 code
 * cache. Finding, reading and compiling some 1,800 modules would be most of what starting a process costs.
 * @throws Error if a source does not compile.
 */
export async function bundlePrograms({ root, folder, otherPrograms, getFlags }: BundleOptions): Promise<void> {
  const programs: Record<string, string> = { ...PROGRAMS, ...otherPrograms };
  const bundles = join(folder, 'bundles');
  await build({
    absWorkingDir: root,
    entryPoints: { ...programs, ...HELPERS },
    outdir: bundles,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    // Shortened names would need `keepNames`, which names each closure when it is created: a tenth of the API's time.
    minifyWhitespace: true,
    minifySyntax: true,
    external: [...EXTERNAL_PACKAGES, ...DATABASE_DRIVERS],
    // A script from a code cache cannot import.
    supported: { 'dynamic-import': false },
    define: { 'import.meta.url': 'moduleUrl' },
    banner: { js: `const moduleUrl = require('node:url').pathToFileURL(__filename).href;` },
    legalComments: 'external',
    logLevel: 'error',
  });
  for (const name of readdirSync(bundles)) if (name.endsWith('.js')) finishBundle(bundles, name);
  for (const path of ASSETS)
    cpSync(join(root, path), join(bundles, path.split('/').at(-1) as string), { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "type": "commonjs" }\n');
  for (const [name, source] of Object.entries(programs)) {
    const main = join(folder, source.replace(/\.ts$/, '.js'));
    mkdirSync(dirname(main), { recursive: true });
    const loader = relative(dirname(main), join(bundles, 'loadBundle.cjs')).replaceAll('\\', '/');
    writeFileSync(main, `require('${loader}')('${name}');\n`);
  }
  copyFileSync(join(import.meta.dirname, 'loadBundle.cjs'), join(bundles, 'loadBundle.cjs'));
  const cached = Object.keys(programs).filter((name) => !UNCACHED.includes(name));
  await Promise.all(cached.map((name) => writeCodeCache(bundles, name, getFlags(name))));
}

/**
 * Corrects what the bundler writes, for V8.
 * @throws Error if the bundle is not ASCII.
 */
function finishBundle(folder: string, name: string): void {
  const path = join(folder, name);
  const text = readFileSync(path, 'latin1');
  assertAscii(name, text);
  writeFileSync(path, text.replaceAll(MODULE_WRAPPER, '__$1({__proto__:null,"'), 'latin1');
}

/**
 * The object with which the bundler wraps a module: `__commonJS({"path"(exports,module){…}})`. V8 keeps 1,536
 * transitions from the hidden class of all objects that are written with one property, and the paths of 1,550 to 1,800
 * modules would use them up: each later `{ id }` would have a hidden class of its own, and each property that is added
 * to it another new one. Objects without a prototype have no such classes.
 */
const MODULE_WRAPPER = /__(commonJS|esm)\(\{"/g;

/**
 * The bundler escapes what is not ASCII, except in regular expressions. One such character would double the memory of
 * the text, for which V8 then needs two bytes per character.
 */
function assertAscii(name: string, text: string): void {
  const place = text.search(/[^\x00-\x7f]/);
  if (place === -1) return;
  const found = text.slice(Math.max(0, place - 40), place + 1);
  throw new Error(`${name} is not ASCII; write \\u escapes in the regular expression at: ${found}`);
}

/** V8 accepts a cache only with the flags with which it was written. */
async function writeCodeCache(bundles: string, name: string, flags: readonly string[]): Promise<void> {
  const args = [
    ...flags,
    join(import.meta.dirname, 'writeCodeCache.cjs'),
    bundles,
    name,
    'find-account',
    'a@example.com',
  ];
  await runProgram({ args, env: { DATA_DIR: '/nonexistent' } });
  if (!existsSync(join(bundles, `${name}.js.cache`))) throw new Error(`${name} did not run without a configuration.`);
}
