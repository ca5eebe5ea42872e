import { execFile } from 'node:child_process';
import { chownSync, mkdirSync, openSync, rmSync, statSync, writeSync, closeSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);
const SIZE_MB = 512;

/** A separate disk, small enough to be filled. */
export interface SmallDisk {
  /** A folder that belongs to the account that runs Postgres. */
  folder: string;
  /** Uses all of its space. */
  fill(): void;
  /** Frees the space again. */
  free(): void;
  remove(): Promise<void>;
}

/**
 * Mounts a file system in memory for the tables of a Postgres, which takes root and Linux.
 * @param folder an existing, empty folder.
 * @param owner a folder whose owner is to own the new one.
 * @returns the reason if this machine does not allow it.
 */
export async function mountSmallDisk(folder: string, owner: string): Promise<SmallDisk | string> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'mounting a small disk takes root on Linux';
  mkdirSync(folder, { mode: 0o711 });
  try {
    await execute('mount', ['-t', 'tmpfs', '-o', `size=${SIZE_MB}m,mode=0711`, 'tmpfs', folder]);
  } catch (error) {
    return `mounting a small disk failed (${(error as Error).message.trim().split('\n').at(-1)})`;
  }
  const tables = join(folder, 'tables');
  mkdirSync(tables, { mode: 0o700 });
  const { uid, gid } = statSync(owner);
  chownSync(tables, uid, gid);
  const ballast = join(folder, 'ballast');
  return {
    folder: tables,
    fill: () => fillDisk(ballast),
    free: () => rmSync(ballast, { force: true }),
    // Lazily: open files stay usable until they are closed.
    remove: async () => void (await execute('umount', ['-l', folder])),
  };
}

function fillDisk(file: string): void {
  const handle = openSync(file, 'a');
  try {
    for (const size of [1 << 20, 4096]) {
      const piece = Buffer.alloc(size);
      try {
        while (writeSync(handle, piece) === size);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      }
    }
  } finally {
    closeSync(handle);
  }
}
