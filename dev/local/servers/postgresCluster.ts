import { randomUUID } from 'node:crypto';
import { chownSync, existsSync, lchownSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { runCommand } from './runCommand.ts';
import type { PostgresBinaries } from './postgresBinaries.ts';
import type { SystemAccount, PostgresLocation } from './postgresLocation.ts';

/** Returns the major version of a cluster's data; null if there is no cluster. */
export function readClusterMajorVersion(cluster: string): number | null {
  const file = join(cluster, 'PG_VERSION');
  return existsSync(file) ? Number.parseInt(readFileSync(file, 'utf8'), 10) : null;
}

/**
 * Creates the cluster if it is missing, in a folder that gets its name only when it is complete: a killed start leaves
 * nothing that looks like data.
 * @param isDurable false skips the flush to disk, for the throwaway cluster of a test.
 */
export async function ensureCluster(
  location: PostgresLocation,
  binaries: PostgresBinaries,
  isDurable: boolean,
): Promise<void> {
  const { cluster, account } = location;
  removeUnfinished(cluster);
  if (readClusterMajorVersion(cluster) !== null) {
    if (account !== null && statSync(cluster).uid !== account.uid) changeOwner(account, cluster);
    return;
  }
  if (existsSync(cluster)) {
    throw new Error(
      `${cluster} exists but is not a Postgres data folder: move it away, or choose another data folder.`,
    );
  }
  const unfinished = `${cluster}.unfinished-${randomUUID()}`;
  mkdirSync(unfinished, { mode: 0o700 });
  if (account !== null) chownSync(unfinished, account.uid, account.gid);
  const locale =
    binaries.major >= 17
      ? ['--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C']
      : [process.platform === 'linux' ? '--locale=C.UTF-8' : '--locale=C'];
  const made = await runCommand(
    binaries.initdb,
    ['-D', unfinished, '-U', 'app', '--auth=trust', '--encoding=UTF8', ...locale, ...(isDurable ? [] : ['--no-sync'])],
    { ...getSpawnOptions(account), timeoutMs: 120_000 },
  );
  if (!made.ok) {
    rmSync(unfinished, { recursive: true, force: true });
    throw new Error(`initdb of ${binaries.source} failed (${made.problem}): free some space, or set DATABASE_URL.`);
  }
  renameSync(unfinished, cluster);
}

/**
 * Returns the account, a working folder that it can enter, and our environment without Postgres variables: a `PGDATA`
 * or `PGPORT` for another server must not reach this one.
 */
export function getSpawnOptions(account: SystemAccount | null): {
  cwd: string;
  env: NodeJS.ProcessEnv;
  uid?: number;
  gid?: number;
} {
  const env: NodeJS.ProcessEnv = {};
  for (const [name, value] of Object.entries(process.env)) {
    if (!/^(PG|LC_|LANG)/.test(name)) env[name] = value;
  }
  const cwd = process.platform === 'win32' ? process.cwd() : '/';
  return account === null ? { cwd, env } : { cwd, env, uid: account.uid, gid: account.gid };
}

function removeUnfinished(cluster: string): void {
  for (const entry of readdirSync(dirname(cluster))) {
    if (entry.startsWith(`${basename(cluster)}.unfinished-`)) {
      // The initdb of a killed start may still be writing there; the next start deletes the rest.
      rmSync(join(dirname(cluster), entry), { recursive: true, force: true, maxRetries: 3 });
    }
  }
}

/** Data that root copied here belongs to root, and must belong to the account that runs Postgres. */
function changeOwner(account: SystemAccount, path: string): void {
  lchownSync(path, account.uid, account.gid);
  if (!statSync(path).isDirectory()) return;
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    if (entry.isSymbolicLink()) lchownSync(join(path, entry.name), account.uid, account.gid);
    else changeOwner(account, join(path, entry.name));
  }
}
