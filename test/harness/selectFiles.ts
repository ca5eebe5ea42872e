import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** Paths of `npm test`. The other folders have scripts of their own. */
const DEFAULT_PATHS = ['test/architecture', 'test/writingStyle.test.ts', 'test/unit', 'test/contract', 'test/flows'];
/** Tests that run the output of `npm run build`. */
const BUILT = /^test\/(e2e|release)\//;
/** Options of mocha that take a value, which must not be taken for a file. */
const OPTIONS_WITH_VALUE = ['-g', '--grep', '-f', '--fgrep', '-t', '--timeout', '--retries'];
const USAGE =
  'npm test -- [file or folder...] [--jobs N] [--partitions N] [--update-timings] [options of mocha: -g, -f, --bail, ...]';

export interface FileSelection {
  files: string[];
  jobs: number | undefined;
  updatesTimings: boolean;
  /** Number of partitions of the growing tables; undefined leaves them whole, as the migrations create them. */
  partitions: number | undefined;
  /** Arguments for mocha. */
  mochaArguments: string[];
}

/**
 * Reads the arguments of `npm test`.
 * @throws Error when a file or folder does not exist, or holds no tests.
 */
export function parseArguments(args: readonly string[]): FileSelection {
  const choice: FileSelection = {
    files: [],
    jobs: undefined,
    updatesTimings: false,
    partitions: undefined,
    mochaArguments: [],
  };
  const named: string[] = [];
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index] as string;
    const [name, inline] = arg.startsWith('--') ? arg.split(/=(.*)/s) : [arg];
    if (name === '--update-timings') choice.updatesTimings = true;
    else if (name === '--jobs' || name === '-j') choice.jobs = parseCount('--jobs', inline ?? args[(index += 1)]);
    else if (name === '--partitions') choice.partitions = parseCount('--partitions', inline ?? args[(index += 1)]);
    else if (OPTIONS_WITH_VALUE.includes(arg)) choice.mochaArguments.push(arg, args[(index += 1)] ?? '');
    else if (arg.startsWith('-')) choice.mochaArguments.push(arg);
    else named.push(arg);
  }
  choice.files = [...new Set((named.length > 0 ? named : DEFAULT_PATHS).flatMap(findTestFiles))];
  return choice;
}

function parseCount(option: string, text: string | undefined): number {
  const count = Number(text);
  if (Number.isInteger(count) && count > 0) return count;
  throw new Error(`${option} needs a whole number above 0. ${USAGE}`);
}

/** Lists the test files of a path: the file itself, or all below the folder. */
export function findTestFiles(path: string): string[] {
  const place = relative('.', path).replaceAll('\\', '/');
  const stats = statSync(place, { throwIfNoEntry: false });
  if (stats?.isFile() === true) return [place];
  const files = stats?.isDirectory() === true ? listTestFiles(place) : [];
  if (files.length === 0) throw new Error(`${path}: no such test file, or folder with tests. ${USAGE}`);
  return files;
}

function listTestFiles(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.test.ts'))
    .map((entry) => join(entry.parentPath, entry.name).replaceAll('\\', '/'))
    .sort();
}

/** The preparations that the files of a run need. */
export interface Needs {
  /** Postgres, Redis, the template database and the programs. */
  servers: boolean;
  /** The built programs of the service. */
  programs: boolean;
  /** The output of `npm run build`. */
  build: boolean;
}

/** Finds the needs of files, from the modules of the harness that they import, directly or indirectly. */
export function findNeeds(files: readonly string[]): Needs {
  const modules = new Set<string>();
  const visitModule = (file: string): void => {
    // A missing module is reported by mocha, with the file that imports it.
    if (modules.has(file) || !existsSync(file)) return;
    modules.add(file);
    const text = readFileSync(file, 'utf8');
    for (const [, name = ''] of text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+\.ts)'/g)) {
      const imported = join(dirname(file), name).replaceAll('\\', '/');
      if (imported.startsWith('test/')) visitModule(imported);
    }
  };
  files.forEach(visitModule);
  const servers = modules.has('test/harness/databases.ts');
  return {
    servers,
    programs: servers || modules.has('test/harness/builtPrograms.ts'),
    build: files.some((file) => BUILT.test(file)),
  };
}
