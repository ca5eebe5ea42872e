import { closeSync, fsync, ftruncateSync, openSync, writeFileSync } from 'node:fs';
import { statfs } from 'node:fs/promises';

/**
 * Writes of small files to a local disk. All calls but the flush are synchronous: for at most a megabyte they take some
 * ten microseconds, less than the processor time of a promise for each of them. On a network file system they could
 * block the process for as long as the network is down, so they are not used there.
 */

/** Types of local file systems in Linux: ext, XFS, Btrfs, Bcachefs, ZFS, F2FS, overlay and tmpfs. */
const LOCAL_FILE_SYSTEMS = new Set([
  0xef53, 0x58465342, 0x9123683e, 0xca451a4e, 0x2fc12fc1, 0xf2f52010, 0x794c7630, 0x01021994,
]);

/** Detects a folder on a local disk. Unknown file systems count as remote. */
export async function isOnLocalDisk(folder: string): Promise<boolean> {
  const { type } = await statfs(folder);
  return LOCAL_FILE_SYSTEMS.has(type);
}

/**
 * Writes a new file and flushes its content to the disk.
 * @returns false if the name exists already.
 */
export async function tryWriteNewFile(file: string, data: Uint8Array): Promise<boolean> {
  const descriptor = tryCreateFile(file);
  if (descriptor === null) return false;
  try {
    writeFileSync(descriptor, data);
    await flush(descriptor);
    return true;
  } catch (error) {
    truncateFile(descriptor);
    throw error;
  } finally {
    closeSync(descriptor);
  }
}

/** Flushes the names in a folder to the disk. */
export async function flushFolder(folder: string): Promise<void> {
  const descriptor = openSync(folder, 'r');
  try {
    await flush(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function flush(descriptor: number): Promise<void> {
  return new Promise((resolve, reject) => {
    fsync(descriptor, (error) => (error === null ? resolve() : reject(error)));
  });
}

function tryCreateFile(file: string): number | null {
  try {
    return openSync(file, 'wx');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return null;
    throw error;
  }
}

/** Frees the space of a partial file. Its name stays, because another process may have replaced the file since. */
function truncateFile(descriptor: number): void {
  try {
    ftruncateSync(descriptor);
  } catch {
    // The error of the write says more.
  }
}
