import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

type DiskFault = 'ENOSPC' | 'EROFS' | 'EIO';

/** Functions of `node:fs` that fail like a full, a read-only or a damaged disk, after half of a write. */
const FAULTS: Record<DiskFault, (fail: () => never) => Partial<typeof fs>> = {
  ENOSPC: (fail) => {
    const { writeFileSync } = fs;
    return {
      writeFileSync: (file, data, options) => {
        const content = data as Buffer;
        writeFileSync(file, content.subarray(0, content.length / 2), options);
        fail();
      },
    };
  },
  EROFS: (fail) => {
    const { openSync } = fs;
    return { openSync: (path, flags, mode) => (flags === 'wx' ? fail() : openSync(path, flags, mode)) };
  },
  EIO: (fail) => ({
    fsync: ((_descriptor: number, done: (error: unknown) => void) => {
      try {
        fail();
      } catch (error) {
        setImmediate(() => done(error));
      }
    }) as typeof fs.fsync,
  }),
};

/**
 * Makes the writes of small files in this process fail, as they do on a full, a read-only or a damaged disk.
 * @returns a function that ends the fault.
 */
export function breakDisk(code: DiskFault): () => void {
  const original = { ...fs };
  const fail = (): never => {
    throw Object.assign(new Error(`${code}: the disk is broken by a test`), { code });
  };
  Object.assign(fs, FAULTS[code](fail));
  syncBuiltinESMExports();
  return () => {
    const { writeFileSync, openSync, fsync } = original;
    Object.assign(fs, { writeFileSync, openSync, fsync });
    syncBuiltinESMExports();
  };
}
