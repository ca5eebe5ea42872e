import { access, constants, copyFile, mkdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { flushToDisk } from './flushToDisk.ts';
import { tooLargeError } from './download.ts';
import { type MediaStore, StoreConfigError } from './mediaStore.ts';

/**
 * Stores outputs below a folder. Local files are moved there, so they must be on the same file system. Stored files
 * survive a power failure: content is flushed before the rename, so no name ever refers to a partial file.
 */
export function diskStore(root: string): MediaStore {
  return {
    putFiles: async (folder, files) => {
      const target = join(root, folder);
      await mkdir(target, { recursive: true });
      for (const { localFile, name } of files) await rename(localFile, join(target, name));
      // Not every platform and file system supports fsync of a folder.
      await flushToDisk(target, 'folder').catch(() => {});
    },
    movesFiles: true,
    getFile: async (path, localFile, maxBytes) => {
      const copied = await findFile(join(root, path), maxBytes, (file) => copyFile(file, localFile));
      return copied !== null;
    },
    readFile: (path, maxBytes) => findFile(join(root, path), maxBytes, (file) => readFile(file)),
    presign: null,
    deleteFolder: async (folder) => {
      await rm(join(root, folder), { recursive: true, force: true });
    },
    probe: async () => {
      try {
        await mkdir(root, { recursive: true });
        await access(root, constants.W_OK);
      } catch (error) {
        throw new StoreConfigError((error as Error).message, { cause: error });
      }
    },
    close: async () => {},
  };
}

/** Runs a function with a file of limited size. Returns null if it does not exist. */
async function findFile<Result>(
  file: string,
  maxBytes: number,
  use: (file: string) => Promise<Result>,
): Promise<Result | null> {
  try {
    if ((await stat(file)).size > maxBytes) throw tooLargeError(maxBytes, 'image');
    return await use(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
