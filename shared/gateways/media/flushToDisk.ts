import { open } from 'node:fs/promises';

/** Flushes the content of a file, or the names in a folder, to the disk. */
export async function flushToDisk(path: string, kind: 'file' | 'folder'): Promise<void> {
  const handle = await open(path, kind === 'file' ? 'r+' : 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
