import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import {
  readProcessCommandLine,
  terminateProcess,
  isAlive,
  processExists,
  waitUntil,
  readWorkingDirectory,
} from './processes.ts';

const RECOVERY_TIMEOUT_MS = 120_000;

/** The contents of `postmaster.pid`, as a running Postgres writes it. */
export interface Postmaster {
  pid: number;
  port: number;
  status: string;
}

/** Reads the `postmaster.pid` of a cluster; null if it is missing or incomplete. */
export function readPostmaster(cluster: string): Postmaster | null {
  let lines: string[];
  try {
    lines = readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n');
  } catch {
    return null;
  }
  const [pid, port] = [Number(lines[0]), Number(lines[3])];
  return pid > 0 ? { pid, port, status: lines[7]?.trim() ?? '' } : null;
}

/**
 * Finds the Postgres that runs on a cluster and waits until it accepts connections; null if there is none, or if it was
 * shutting down. Deletes a `postmaster.pid` whose process is another program or a zombie, which Postgres would mistake
 * for a running server; it replaces the file of a dead process itself. Postgres also checks, by the folder's inode,
 * that no orphaned children hold the shared memory.
 * @throws Error if it neither becomes ready nor exits within two minutes.
 */
export async function findPostmaster(cluster: string): Promise<Postmaster | null> {
  const found = readPostmaster(cluster);
  if (found === null) return null;
  if (!isAlive(found.pid) || !isPostgresForCluster(found.pid, cluster)) {
    if (processExists(found.pid)) rmSync(join(cluster, 'postmaster.pid'), { force: true });
    return null;
  }
  const settled = await waitUntil(
    () => isPostgresReady(cluster, found.pid) || !isAlive(found.pid),
    RECOVERY_TIMEOUT_MS,
  );
  if (!settled) {
    throw new Error(
      `The Postgres with process id ${found.pid} runs on ${cluster} but accepts no connections: stop it.`,
    );
  }
  return isAlive(found.pid) ? readPostmaster(cluster) : null;
}

/** Returns true if the Postgres with this process id accepts connections to the cluster. */
export function isPostgresReady(cluster: string, pid: number): boolean {
  const now = readPostmaster(cluster);
  return now !== null && now.pid === pid && now.status === 'ready';
}

/** Stops a Postgres of this cluster: a fast shutdown, which ends sessions, then an immediate one. */
export async function terminatePostgres(cluster: string, pid: number): Promise<void> {
  await terminateProcess(pid, () => isPostgresForCluster(pid, cluster), [
    ['SIGINT', 30_000],
    ['SIGQUIT', 10_000],
    ['SIGKILL', 5_000],
  ]);
}

/** Stops any Postgres that runs on a cluster, ready or not. */
export async function terminateRunningPostgres(cluster: string): Promise<void> {
  const found = readPostmaster(cluster);
  if (found !== null) await terminatePostgres(cluster, found.pid);
}

/** Its working folder follows the cluster even if the folder was moved under a running server. */
function isPostgresForCluster(pid: number, cluster: string): boolean {
  if (process.platform === 'win32') return true;
  const command = readProcessCommandLine(pid);
  return /postgres|postmaster/.test(command) && (command.includes(cluster) || readWorkingDirectory(pid) === cluster);
}
