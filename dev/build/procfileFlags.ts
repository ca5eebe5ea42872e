import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PROGRAMS } from './programs.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/**
 * Returns the flags of node with which the Procfile starts a program; none if it does not.
 * @param root of the checkout with the Procfile.
 */
export function readProcfileFlags(name: string, root = ROOT): string[] {
  const main = `dist/${PROGRAMS[name as keyof typeof PROGRAMS].replace(/\.ts$/, '.js')}`;
  const procfile = readFileSync(join(root, 'Procfile'), 'utf8');
  const line = procfile.split('\n').find((entry) => entry.endsWith(main)) ?? '';
  return line.split(/\s+/).filter((word) => word.startsWith('--'));
}
