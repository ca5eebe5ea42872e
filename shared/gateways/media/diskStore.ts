import { access, constants, mkdir, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type MediaStore, StoreConfigError } from './mediaStore.ts';

/**
 * Keeps outputs below a folder. Local files are moved there, and so must come from the same file system. What was
 * kept survives a power cut: content before name, so that no name ever stands for half a file.
 */
export function diskStore(root: string): MediaStore {
  return {
    putFiles: async (folder, files) => {
      const target = join(root, folder);
      await mkdir(target, { recursive: true });
      for (const { localFile, name } of files) await rename(localFile, join(target, name));
      // Not every platform and file system lets a folder be settled by itself.
      await syncDirectory(target).catch(() => {});
    },
    movesFiles: true,
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

/** Waits until the names in a folder are on the disk itself. */
async function syncDirectory(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
