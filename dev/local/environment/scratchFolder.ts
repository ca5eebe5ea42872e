import { chmodSync, mkdtempSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MEMORY_FILE_SYSTEM = '/dev/shm';
const MIN_FREE_BYTES = 4 * 1024 ** 3;

/**
 * Creates a folder for temporary data: in memory if there is space, since on a slow disk the flushes of many servers
 * delay each other.
 * @param prefix of its name.
 * @param isOnDisk uses the disk in any case, for measurements.
 */
export function createScratchFolder(prefix: string, isOnDisk = false): string {
  const isInMemory = !isOnDisk && hasFreeSpace(MEMORY_FILE_SYSTEM);
  const folder = mkdtempSync(join(isInMemory ? MEMORY_FILE_SYSTEM : tmpdir(), prefix));
  // If root runs this, Postgres runs as another account, which needs to reach its data.
  chmodSync(folder, 0o711);
  return folder;
}

function hasFreeSpace(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize > MIN_FREE_BYTES;
  } catch {
    return false;
  }
}
