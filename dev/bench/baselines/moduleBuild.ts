import { spawnSync } from 'node:child_process';
import { cpSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ASSETS } from '../../build/programs.ts';
import { ROOT } from '../../local/environment/build.ts';

const SOURCES = ['api', 'worker', 'shared', 'migrations'];

/**
 * Compiles the service without bundling it: one module for each source in `dist`, and packages from `node_modules`.
 * @throws Error if it does not compile.
 */
export function buildModules(folder: string): void {
  const config = {
    extends: join(ROOT, 'tsconfig.json'),
    compilerOptions: {
      noEmit: false,
      noCheck: true,
      allowImportingTsExtensions: false,
      rootDir: ROOT,
      outDir: join(folder, 'dist'),
      typeRoots: [join(ROOT, 'node_modules/@types')],
    },
    include: SOURCES.map((name) => join(ROOT, name)),
  };
  const project = join(folder, 'tsconfig.json');
  writeFileSync(project, JSON.stringify(config));
  const args = [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', project];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`The modules do not compile:\n${stdout}${stderr}`);
  for (const path of ASSETS) cpSync(join(ROOT, path), join(folder, 'dist', path), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'), 'dir');
  cpSync(join(ROOT, 'package.json'), join(folder, 'package.json'));
}
