import { cpSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../local/builtProcess.ts';
import { createScratchFolder } from '../../local/scratchFolder.ts';
import type { SeededBug, CodeChange } from './bugs.ts';

/** A copy of the build with a bug in it. */
export interface BuildCopy {
  folder: string;
  remove(): void;
}

/**
 * Copies the build and plants a bug.
 * @throws Error where a line that it changes is not there as often as it says: the code has moved on.
 */
export function copyBuildWithBug(bug: SeededBug): BuildCopy {
  const folder = createScratchFolder('chaos-planted-');
  const remove = () => {
    rmSync(folder, { recursive: true, force: true });
    process.off('exit', remove);
  };
  // Ended from outside it tidies up, too.
  process.once('exit', remove);
  try {
    cpSync(join(ROOT, 'dist'), join(folder, 'dist'), { recursive: true });
    cpSync(join(ROOT, 'package.json'), join(folder, 'package.json'));
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'), 'dir');
    for (const change of bug.changes) applyChange(folder, change, bug);
    return { folder, remove };
  } catch (error) {
    remove();
    throw error;
  }
}

function applyChange(folder: string, { file, find, times = 1, replace }: CodeChange, { name }: SeededBug): void {
  const path = join(folder, 'dist', file);
  const parts = readFileSync(path, 'utf8').split(find);
  if (parts.length !== times + 1) {
    throw new Error(`"${name}" cannot be planted: ${file} has "${find}" ${parts.length - 1} times, and not ${times}.`);
  }
  writeFileSync(path, parts.join(replace));
}
