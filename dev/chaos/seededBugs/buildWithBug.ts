import { spawnSync } from 'node:child_process';
import { cpSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundlePrograms } from '../../build/bundlePrograms.ts';
import { readProcfileFlags } from '../../build/procfileFlags.ts';
import { ROOT } from '../../local/environment/build.ts';
import { createScratchFolder } from '../../local/environment/scratchFolder.ts';
import { applyCodeChange } from './codeChange.ts';
import type { SeededBug } from './bugs.ts';

const MODULES = ['api', 'dev/sampleUpstream', 'docs', 'migrations', 'shared', 'worker'];

/**
 * Copies the source, applies the changes of a bug and compiles the result.
 * @throws Error if a change does not fit the source, or if the changed source does not compile.
 */
export async function buildWithBug(bug: SeededBug): Promise<{ folder: string; remove(): void }> {
  const folder = createScratchFolder('chaos-seeded-bug-');
  const remove = () => {
    rmSync(folder, { recursive: true, force: true });
    process.off('exit', remove);
  };
  // The folder is also removed when the process is stopped early.
  process.once('exit', remove);
  try {
    for (const name of [...MODULES, 'package.json', 'tsconfig.json'])
      cpSync(join(ROOT, name), join(folder, name), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'), 'dir');
    for (const change of bug.changes) {
      const path = join(folder, change.file);
      writeFileSync(path, applyCodeChange(readFileSync(path, 'utf8'), change));
    }
    await compile(bug, folder);
    return { folder, remove };
  } catch (error) {
    remove();
    throw error;
  }
}

async function compile({ name }: SeededBug, folder: string): Promise<void> {
  // The bundler does not check types, and a name that does not exist would look like a bug that was found.
  writeFileSync(join(folder, 'tsconfig.bug.json'), JSON.stringify({ extends: './tsconfig.json', include: MODULES }));
  const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
  const { status, stdout, stderr } = spawnSync(process.execPath, [tsc, '-p', 'tsconfig.bug.json'], {
    cwd: folder,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`The service with the bug "${name}" does not compile:\n${stdout}${stderr}`);
  await bundlePrograms({ root: folder, folder: join(folder, 'dist'), getFlags: readProcfileFlags });
}
