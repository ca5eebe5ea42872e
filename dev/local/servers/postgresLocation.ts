import { createHash, randomUUID } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import { runCommand } from './runCommand.ts';
import { terminateRunningPostgres } from './postmaster.ts';

/** The data folder of root's Postgres, if its account cannot reach the project. */
const SHARED_DATA_ROOT = '/var/lib/genmeter';

/** The account that runs Postgres if we are root, as Postgres refuses to run as root. */
export interface SystemAccount {
  name: string;
  uid: number;
  gid: number;
}

/** Paths of a Postgres: its cluster (the data), its log, its record; and its account (null: ours). */
export interface PostgresLocation {
  cluster: string;
  logFile: string;
  recordFile: string;
  /** Folder for copies of the binaries. */
  binaryCopiesDir: string;
  account: SystemAccount | null;
}

/**
 * Prepares the paths of a Postgres in `dataDir` (an existing folder, resolved). For root, chooses an account and, if
 * that account cannot enter the folder, another location, which is used for as long as `dataDir` points to it.
 */
export async function preparePostgresLocation(dataDir: string, log: (line: string) => void): Promise<PostgresLocation> {
  if (process.getuid?.() !== 0) return buildLocation(dataDir, dataDir, null);
  await removeAbandonedLocations();
  const shared = join(SHARED_DATA_ROOT, createHash('sha256').update(dataDir).digest('hex').slice(0, 16));
  const account = await chooseAccount([join(dataDir, 'cluster'), join(shared, 'cluster')]);
  // Grants entering, not reading: only its account can read the cluster below.
  if (statSync(dataDir).uid === 0) chmodSync(dataDir, statSync(dataDir).mode | 0o011);
  if (await canEnter(dataDir, account)) return buildLocation(dataDir, SHARED_DATA_ROOT, account);

  if (!isLinkedFrom(shared)) {
    await deleteSharedLocation(shared);
    createEnterableFolder(SHARED_DATA_ROOT);
    createEnterableFolder(shared);
    const token = randomUUID();
    writeFileSync(join(dataDir, 'moved-to'), `${shared}\n${token}\n`);
    writeFileSync(join(shared, 'origin'), `${dataDir}\n${token}\n`);
  }
  log(`postgres: ${account.name}, which runs it instead of root, cannot enter ${dataDir}; its data is in ${shared}`);
  return buildLocation(shared, SHARED_DATA_ROOT, account);
}

function buildLocation(folder: string, binaryCopiesDir: string, account: SystemAccount | null): PostgresLocation {
  return {
    cluster: join(folder, 'cluster'),
    logFile: join(folder, 'postgres.log'),
    recordFile: join(folder, 'postgres.json'),
    binaryCopiesDir,
    account,
  };
}

/** Creates a folder that other accounts can enter, whatever our umask is; an existing one stays unchanged. */
export function createEnterableFolder(folder: string): void {
  if (mkdirSync(folder, { recursive: true }) !== undefined) chmodSync(folder, 0o755);
}

/** Returns the owner of existing data, else `postgres`, else `nobody`. */
async function chooseAccount(clusters: string[]): Promise<SystemAccount> {
  for (const cluster of clusters) {
    if (!existsSync(cluster)) continue;
    const { uid, gid } = statSync(cluster);
    if (uid !== 0) return { name: `account ${uid}`, uid, gid };
  }
  for (const name of ['postgres', 'nobody']) {
    const [uid, gid] = await Promise.all([runCommand('id', ['-u', name]), runCommand('id', ['-g', name])]);
    if (uid.ok && gid.ok) return { name: `account ${name}`, uid: Number(uid.stdout), gid: Number(gid.stdout) };
  }
  throw new Error(
    'Postgres refuses to run as root, and this machine has no account `postgres` or `nobody`: ' +
      'start as another user, or set DATABASE_URL.',
  );
}

async function canEnter(folder: string, { uid, gid }: SystemAccount): Promise<boolean> {
  return (await runCommand('/bin/sh', ['-c', 'cd "$0"', folder], { uid, gid, cwd: '/' })).ok;
}

/**
 * A shared location belongs to a data folder only while each points to the other: after the data folder was deleted, a
 * new start must not find the old data.
 */
function isLinkedFrom(shared: string): boolean {
  try {
    const [dataDir, token] = readFileSync(join(shared, 'origin'), 'utf8').split('\n');
    return readFileSync(join(dataDir!, 'moved-to'), 'utf8') === `${shared}\n${token}\n`;
  } catch {
    return false;
  }
}

/**
 * Deletes the data of temporary folders that no longer exist; other folders may be on a disk that is only unmounted.
 */
async function removeAbandonedLocations(): Promise<void> {
  if (!existsSync(SHARED_DATA_ROOT)) return;
  const temporary = realpathSync(tmpdir()) + sep;
  for (const entry of readdirSync(SHARED_DATA_ROOT)) {
    const shared = join(SHARED_DATA_ROOT, entry);
    const origin = join(shared, 'origin');
    if (existsSync(origin) && readFileSync(origin, 'utf8').startsWith(temporary) && !isLinkedFrom(shared)) {
      await deleteSharedLocation(shared);
    }
  }
}

async function deleteSharedLocation(shared: string): Promise<void> {
  await terminateRunningPostgres(join(shared, 'cluster'));
  rmSync(shared, { recursive: true, force: true });
}
