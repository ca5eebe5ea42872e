import { createHash, randomUUID } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, sep } from 'node:path';
import { run } from './commands.ts';
import { endLivePostgres } from './postmaster.ts';

/** Where root keeps what an unprivileged account cannot reach in the project. */
const SHARED_ROOM = '/var/lib/genmeter';

/** The account Postgres runs as when we are root, which it refuses to be. */
export interface Account {
  name: string;
  uid: number;
  gid: number;
}

/** The place of a Postgres: its cluster (the data), its log, its record, and who runs it (null: we ourselves). */
export interface PostgresHome {
  cluster: string;
  logFile: string;
  recordFile: string;
  /** Where copies of the binaries may be kept. */
  copies: string;
  account: Account | null;
}

/**
 * Prepares the place of a Postgres in `dataDir` (an existing folder, resolved). Root gets an account for it, and, where
 * that account cannot enter the folder, a place it can, for as long as `dataDir` points to it.
 */
export async function preparePostgresHome(dataDir: string, log: (line: string) => void): Promise<PostgresHome> {
  if (process.getuid?.() !== 0) return homeIn(dataDir, dataDir, null);
  await removeDeserted();
  const shared = join(SHARED_ROOM, createHash('sha256').update(dataDir).digest('hex').slice(0, 16));
  const account = await chooseAccount([join(dataDir, 'cluster'), join(shared, 'cluster')]);
  // Entering, not reading: the cluster below stays closed to all but its account.
  if (statSync(dataDir).uid === 0) chmodSync(dataDir, statSync(dataDir).mode | 0o011);
  if (await canEnter(dataDir, account)) return homeIn(dataDir, SHARED_ROOM, account);

  if (!isPointedTo(shared)) {
    await discard(shared);
    makeEnterable(SHARED_ROOM);
    makeEnterable(shared);
    const token = randomUUID();
    writeFileSync(join(dataDir, 'moved-to'), `${shared}\n${token}\n`);
    writeFileSync(join(shared, 'origin'), `${dataDir}\n${token}\n`);
  }
  log(`postgres: ${account.name}, which runs it in place of root, cannot enter ${dataDir}; its data is in ${shared}`);
  return homeIn(shared, SHARED_ROOM, account);
}

function homeIn(folder: string, copies: string, account: Account | null): PostgresHome {
  return {
    cluster: join(folder, 'cluster'),
    logFile: join(folder, 'postgres.log'),
    recordFile: join(folder, 'postgres.json'),
    copies,
    account,
  };
}

/** Makes a folder that other accounts can enter whatever our umask is; one that exists stays as it is. */
export function makeEnterable(folder: string): void {
  if (mkdirSync(folder, { recursive: true }) !== undefined) chmodSync(folder, 0o755);
}

/** The owner of the data if there is one already, else the account made for this, else the one made for nothing. */
async function chooseAccount(clusters: string[]): Promise<Account> {
  for (const cluster of clusters) {
    if (!existsSync(cluster)) continue;
    const { uid, gid } = statSync(cluster);
    if (uid !== 0) return { name: `account ${uid}`, uid, gid };
  }
  for (const name of ['postgres', 'nobody']) {
    const [uid, gid] = await Promise.all([run('id', ['-u', name]), run('id', ['-g', name])]);
    if (uid.ok && gid.ok) return { name: `account ${name}`, uid: Number(uid.stdout), gid: Number(gid.stdout) };
  }
  throw new Error(
    'Postgres refuses to run as root, and there is neither an account postgres nor nobody to run it: ' +
      'start as another user, or set DATABASE_URL.',
  );
}

async function canEnter(folder: string, { uid, gid }: Account): Promise<boolean> {
  return (await run('/bin/sh', ['-c', 'cd "$0"', folder], { uid, gid, cwd: '/' })).ok;
}

/**
 * A shared place belongs to a data folder only while each names the other: whoever deletes the data folder to begin
 * anew must not meet the old data again.
 */
function isPointedTo(shared: string): boolean {
  try {
    const [dataDir, token] = readFileSync(join(shared, 'origin'), 'utf8').split('\n');
    return readFileSync(join(dataDir!, 'moved-to'), 'utf8') === `${shared}\n${token}\n`;
  } catch {
    return false;
  }
}

/** Removes what deleted temporary folders left behind; others may be on a disk that is only away for now. */
async function removeDeserted(): Promise<void> {
  if (!existsSync(SHARED_ROOM)) return;
  const temporary = realpathSync(tmpdir()) + sep;
  for (const entry of readdirSync(SHARED_ROOM)) {
    const shared = join(SHARED_ROOM, entry);
    const origin = join(shared, 'origin');
    if (existsSync(origin) && readFileSync(origin, 'utf8').startsWith(temporary) && !isPointedTo(shared)) {
      await discard(shared);
    }
  }
}

async function discard(shared: string): Promise<void> {
  await endLivePostgres(join(shared, 'cluster'));
  rmSync(shared, { recursive: true, force: true });
}
