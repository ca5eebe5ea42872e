import { chmodSync, mkdtempSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const MEMORY_FILE_SYSTEM = '/dev/shm';
const MIN_FREE_BYTES = 4 * 1024 ** 3;

/**
 * Makes a folder for what need not outlive its run: in memory where there is room, since on a slow disk each flush of
 * many servers at once waits for all the others.
 * @param prefix of its name.
 */
export function createScratchFolder(prefix: string): string {
  const folder = mkdtempSync(join(hasFreeSpace(MEMORY_FILE_SYSTEM) ? MEMORY_FILE_SYSTEM : tmpdir(), prefix));
  // Where root runs this, Postgres runs as another account, which has to get through to its data.
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
