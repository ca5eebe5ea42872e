import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROGRAMS } from './programs.ts';

/** Returns the flags of node with which the Procfile starts a program; none if it does not. */
export function readProcfileFlags(name: string): string[] {
  const main = `dist/${PROGRAMS[name as keyof typeof PROGRAMS].replace(/\.ts$/, '.js')}`;
  const procfile = readFileSync(join(import.meta.dirname, '../../Procfile'), 'utf8');
  const line = procfile.split('\n').find((entry) => entry.endsWith(main)) ?? '';
  return line.split(/\s+/).filter((word) => word.startsWith('--'));
}
