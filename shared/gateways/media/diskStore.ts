import { access, constants, mkdir, open, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { flushToDisk } from './flushToDisk.ts';
import { tooLargeError } from './download.ts';
import { type MediaStore, StoreConfigError } from './mediaStore.ts';
import { deleteTempFile, newTempFile } from './tempFiles.ts';

/**
 * Stores outputs below a folder. Local files are moved there, so they must be on the same file system. Stored files
 * survive a power failure: their content and their names are flushed before `putFiles` resolves.
 */
export function diskStore(root: string): MediaStore {
  return {
    putFiles: async (folder, files) => {
      const target = join(root, folder);
      await mkdir(target, { recursive: true });
      await Promise.all(
        files.flatMap((file) => ('data' in file ? [writeData(join(target, file.name), file.data)] : [])),
      );
      for (const file of files) if ('localFile' in file) await rename(file.localFile, join(target, file.name));
      // Not every platform and file system supports fsync of a folder.
      await flushToDisk(target, 'folder').catch(() => {});
    },
    openFile: (path, maxBytes) => openFile(join(root, path), maxBytes),
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

/** Opens a file of limited size. Returns null if it does not exist. */
async function openFile(path: string, maxBytes: number): Promise<Readable | null> {
  const file = await open(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw error;
  });
  if (file === null) return null;
  if ((await file.stat()).size <= maxBytes) return file.createReadStream();
  await file.close();
  throw tooLargeError(maxBytes, 'image');
}

/** Writes a file and flushes its content. It gets its name by a rename, so that a file with that name is complete. */
async function writeData(file: string, data: Uint8Array): Promise<void> {
  const localFile = await newTempFile();
  try {
    await writeFile(localFile, data, { flush: true });
    await rename(localFile, file);
  } catch (error) {
    await deleteTempFile(localFile);
    throw error;
  }
}
