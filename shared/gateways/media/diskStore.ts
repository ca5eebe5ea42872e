import { access, constants, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type MediaStore, UnusableStore } from './mediaStore.ts';

/**
 * Keeps outputs below a folder. Local files are moved there, and so must come from the same file system. What was
 * kept survives a power cut: content before name, so that no name ever stands for half a file.
 */
export function diskStore(folder: string): MediaStore {
  return {
    keep: async (localFile, path) => {
      const target = join(folder, path);
      await mkdir(dirname(target), { recursive: true });
      await settle(localFile, 'r+');
      await rename(localFile, target);
      // Not every platform and file system lets a folder be settled by itself.
      await settle(dirname(target), 'r').catch(() => {});
    },
    removeFolder: async (path) => {
      await rm(join(folder, path), { recursive: true, force: true });
    },
    probe: async () => {
      try {
        await mkdir(folder, { recursive: true });
        await access(folder, constants.W_OK);
      } catch (error) {
        throw new UnusableStore((error as Error).message, { cause: error });
      }
    },
    close: async () => {},
  };
}

/** Waits until the content of a file, or the names in a folder, are on the disk itself. */
async function settle(path: string, flags: 'r' | 'r+'): Promise<void> {
  const handle = await open(path, flags);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
