import { execFile } from 'node:child_process';
import { chownSync, mkdirSync, openSync, rmSync, statSync, writeSync, closeSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);
const SIZE_MB = 512;

/** A disk of its own, small enough to be filled. */
export interface SmallDisk {
  /** A folder that belongs to whom Postgres runs as. */
  folder: string;
  /** Leaves no byte free. */
  fill(): void;
  /** Makes room again. */
  free(): void;
  remove(): Promise<void>;
}

/**
 * Mounts a file system in memory for the tables of a Postgres.
 * @param folder made for it. @param owner a folder whose owner is to own the new one.
 * @returns a sentence why not, where this machine does not allow it: that takes root, and Linux.
 */
export async function mountSmallDisk(folder: string, owner: string): Promise<SmallDisk | string> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'mounting a small disk takes root on Linux';
  mkdirSync(folder, { mode: 0o711 });
  try {
    await execute('mount', ['-t', 'tmpfs', '-o', `size=${SIZE_MB}m,mode=0711`, 'tmpfs', folder]);
  } catch (error) {
    return `mounting a small disk was refused (${(error as Error).message.trim().split('\n').at(-1)})`;
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
    // Lazily: whatever is open there still goes when it is closed.
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
