import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { type ProgramOptions, runProgram } from '../local/environment/program.ts';

/** A module of the bundle that calls `require`, as commander does, needs the function. */
const REQUIRE = "import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);";

/**
 * Builds the packages for customers and packs them as they would be published. Needs no network.
 * @param root of the sources.
 * @param folder receives the tarballs.
 * @throws Error if a source does not compile.
 */
export async function packPackages(root: string, folder: string): Promise<void> {
  const [client, cli] = ['client', 'cli'].map((name) => join(root, 'packages', name, 'dist')) as [string, string];
  for (const dist of [client, cli]) rmSync(dist, { recursive: true, force: true });
  await run({ args: ['node_modules/typescript/bin/tsc', '-p', 'packages/client'], cwd: root });
  // With all that it imports, the command line installs from one file.
  await build({
    absWorkingDir: root,
    entryPoints: ['packages/cli/src/main.ts'],
    outfile: join(cli, 'main.js'),
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node20.3',
    banner: { js: REQUIRE },
    logLevel: 'error',
  });
  copyFileSync(join(root, 'node_modules/commander/LICENSE'), join(cli, 'LICENSE-commander'));
  mkdirSync(folder);
  const isWindows = process.platform === 'win32';
  const args = ['pack', '--silent', '--workspaces', '--ignore-scripts', '--pack-destination', folder];
  await run({ file: isWindows ? 'npm.cmd' : 'npm', args, cwd: root, usesShell: isWindows });
  await packPythonClient(root, folder);
}

const isPythonSource = (path: string): boolean => !/__pycache__|\.egg-info/.test(path);

/** Packs the sources of the Python client, which pip builds where it installs them. */
async function packPythonClient(root: string, folder: string): Promise<void> {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  const name = `genmeter-${version}`;
  const staging = mkdtempSync(join(tmpdir(), 'genmeter-python-'));
  try {
    for (const part of ['pyproject.toml', 'README.md', 'src'])
      cpSync(join(root, 'packages/python', part), join(staging, name, part), {
        recursive: true,
        filter: isPythonSource,
      });
    writeFileSync(join(staging, name, 'PKG-INFO'), `Metadata-Version: 2.1\nName: genmeter\nVersion: ${version}\n`);
    await run({ file: 'tar', args: ['-czf', join(folder, `${name}.tar.gz`), '-C', staging, name], cwd: root });
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

async function run(options: Omit<ProgramOptions, 'name' | 'env'>): Promise<void> {
  const { status, out, err } = await runProgram({ ...options, env: process.env });
  if (status !== 0) throw new Error(`The packages for customers could not be built:\n${out}${err}`);
}
