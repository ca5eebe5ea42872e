import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { readProcfileFlags } from '../../build/procfileFlags.ts';
import { startProgram } from './program.ts';

export const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** Rebuilds `dist`, so that the current source is measured. Leaves checking the types to `npm run typecheck`. */
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
 * @param checkout with the Procfile. Default: this project.
 */
export function buildServiceArgs(folder: string, program: 'api' | 'worker', checkout = ROOT): string[] {
  return [...readProcfileFlags(program, checkout), join(folder, `dist/${program}/main.js`)];
}
