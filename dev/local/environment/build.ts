import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startProgram } from './program.ts';

export const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** Rebuilds `dist`, so that the current source is measured. */
export async function buildDist(): Promise<void> {
  const isWindows = process.platform === 'win32';
  const file = isWindows ? 'npm.cmd' : 'npm';
  const args = ['run', '--silent', 'build'];
  const build = startProgram({
    name: 'npm',
    file,
    args,
    env: process.env,
    cwd: ROOT,
    output: 'inherit',
    usesShell: isWindows,
  });
  const { status } = await build.ended;
  if (status !== 0) throw new Error('npm run build failed.');
}

/**
 * Returns the arguments of node for an API or a worker as it is deployed: with its flags from the Procfile.
 * @param folder of the build.
 */
export function buildServiceArgs(folder: string, program: 'api' | 'worker'): string[] {
  const main = `dist/${program}/main.js`;
  const line = readFileSync(join(ROOT, 'Procfile'), 'utf8')
    .split('\n')
    .find((entry) => entry.includes(main));
  if (line === undefined) throw new Error(`The Procfile has no process for ${main}.`);
  return [...line.split(/\s+/).filter((word) => word.startsWith('--')), join(folder, main)];
}
