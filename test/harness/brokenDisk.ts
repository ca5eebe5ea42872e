import { syncBuiltinESMExports } from 'node:module';
import promises from 'node:fs/promises';

/** Part of the content that is written before the error; null if the file is not even created. */
const WRITTEN = { ENOSPC: 0.5, EROFS: null, EIO: 1 };

/**
 * Makes the writes of small files in this process fail, as they do on a full, a read-only or a damaged disk.
 * @returns a function that ends the fault.
 */
export function breakDisk(code: keyof typeof WRITTEN): () => void {
  const { writeFile } = promises;
  promises.writeFile = async (file, data, options) => {
    if (!(data instanceof Uint8Array)) return writeFile(file, data, options);
    const part = WRITTEN[code];
    if (part !== null) await writeFile(file, data.subarray(0, data.length * part), options);
    throw Object.assign(new Error(`${code}: the disk is broken by a test`), { code });
  };
  syncBuiltinESMExports();
  return () => {
    promises.writeFile = writeFile;
    syncBuiltinESMExports();
  };
}
