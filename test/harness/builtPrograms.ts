import { existsSync, realpathSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { bundlePrograms } from '../../dev/build/bundlePrograms.ts';
import { PROGRAMS } from '../../dev/build/programs.ts';
import { type ProgramOptions, type ProgramResult, runProgram } from '../../dev/local/environment/program.ts';

/** Folder of the built programs. Each run of the tests has its own, so that two runs cannot disturb each other. */
export const BUILD = toBuildFolder(process.env['TEST_FOLDER'] ?? '');

/** Programs that tests start beside those of a deployment. */
const TEST_PROGRAMS = { stripeSetup: 'dev/stripeSetup.ts' };

type TestProgram = keyof typeof PROGRAMS | keyof typeof TEST_PROGRAMS;

/**
 * Builds the programs as `npm run build` does, for a start without the flags of the Procfile. A run within a test uses
 * the programs of the outer run.
 * @param folder scratch folder of this run of the tests.
 */
export async function buildPrograms(folder: string): Promise<void> {
  const build = toBuildFolder(folder);
  if (process.env['TEST_FOLDER'] !== undefined && existsSync(BUILD)) {
    symlinkSync(realpathSync(BUILD), build, 'dir');
    return;
  }
  // External packages are resolved from there.
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'), 'dir');
  await bundlePrograms({ root: resolve('.'), folder: build, otherPrograms: TEST_PROGRAMS, getFlags: () => [] });
}

/** Returns the file that starts a program. */
export const findProgram = (name: TestProgram): string => join(BUILD, toMainFile(name));

/** Returns the program that makes thumbnails, which services in a test's own process start. */
export const findThumbnailProgram = (): string => join(BUILD, 'bundles/thumbnailProcess.js');

/** Runs a built program to its end, as in a deployment. */
export function runBundled(
  name: TestProgram,
  args: readonly string[],
  { folder, ...options }: Pick<ProgramOptions, 'env' | 'cwd' | 'clockOffsetMs'> & { folder?: string },
): Promise<ProgramResult> {
  const build = folder === undefined ? BUILD : toBuildFolder(folder);
  return runProgram({ args: [join(build, toMainFile(name)), ...args], ...options });
}

const toMainFile = (name: TestProgram): string => ({ ...PROGRAMS, ...TEST_PROGRAMS })[name].replace(/\.ts$/, '.js');

function toBuildFolder(folder: string): string {
  return join(folder, 'build');
}
