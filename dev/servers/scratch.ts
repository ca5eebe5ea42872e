import { chmodSync, mkdtempSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const IN_MEMORY = '/dev/shm';
const LEAST_FREE_BYTES = 4 * 1024 ** 3;

/**
 * Makes a folder for what need not outlive its run: in memory where there is room, since on a slow disk each flush of
 * many servers at once waits for all the others.
 * @param prefix of its name.
 */
export function makeScratchFolder(prefix: string): string {
  const folder = mkdtempSync(join(hasRoom(IN_MEMORY) ? IN_MEMORY : tmpdir(), prefix));
  // Where root runs this, Postgres runs as another account, which has to get through to its data.
  chmodSync(folder, 0o711);
  return folder;
}

function hasRoom(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize > LEAST_FREE_BYTES;
  } catch {
    return false;
  }
}
