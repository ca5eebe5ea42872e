import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { startProgram } from '../../../dev/local/environment/program.ts';
import { requireTestEnv } from '../databases.ts';
import { OFFLINE } from '../offline.ts';

/** Time limit for the download of the runtimes. */
const INSTALL_TIMEOUT_MS = 90_000;

/** Packages with the executable of a runtime, by platform. They need no install script. */
const DENO_VERSION = '2.9.6';
const DENO: Record<string, string> = {
  'linux-x64': '@deno/linux-x64-glibc',
  'linux-arm64': '@deno/linux-arm64-glibc',
  'darwin-x64': '@deno/darwin-x64',
  'darwin-arm64': '@deno/darwin-arm64',
};
const BUN_VERSION = '1.4.5';
const BUN: Record<string, string> = {
  // Runs on processors without AVX2 as well.
  'linux-x64': '@oven/bun-linux-x64-baseline',
  'linux-arm64': '@oven/bun-linux-aarch64',
  'darwin-x64': '@oven/bun-darwin-x64',
  'darwin-arm64': '@oven/bun-darwin-aarch64',
};

/** Programs that run a module, by name; or the reason why they cannot be installed on this machine. */
export type Runtimes = { deno: string; bun: string } | { unavailable: string };

/** Downloads Deno and Bun from the npm registry into the folder of this run of the tests. */
export async function installRuntimes(): Promise<Runtimes> {
  const platform = `${process.platform}-${process.arch}`;
  const [deno, bun] = [DENO[platform], BUN[platform]];
  if (deno === undefined || bun === undefined) return { unavailable: `Deno and Bun are not pinned for ${platform}` };
  const folder = join(requireTestEnv('TEST_FOLDER'), 'runtimes');
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-save', '--prefix', folder];
  const npm = startProgram({
    name: 'npm install',
    file: 'npm',
    args: ['install', ...options, `${deno}@${DENO_VERSION}`, `${bun}@${BUN_VERSION}`],
    env: process.env,
  });
  const timer = setTimeout(() => npm.signal('SIGKILL'), INSTALL_TIMEOUT_MS);
  const { status, signal } = await npm.ended;
  clearTimeout(timer);
  const programs = {
    deno: join(folder, 'node_modules', deno, 'deno'),
    bun: join(folder, 'node_modules', bun, 'bin/bun'),
  };
  if (status === 0 && Object.values(programs).every((file) => existsSync(file))) return programs;
  if (signal !== null || OFFLINE.test(npm.logs())) {
    return { unavailable: 'Deno and Bun come from the npm registry, which cannot be reached' };
  }
  throw new Error(`Deno and Bun were not installed:\n${npm.logs()}`);
}
