import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** Where outputs live. Paths are relative, with forward slashes; CDN_URL stands before them in what clients see. */
export interface MediaStore {
  /** A folder for files on their way in. */
  incomingDir(): Promise<string>;
  /** Moves a finished local file to its place. Replacing one that is there is allowed: a retry writes the same. */
  keep(localFile: string, path: string): Promise<void>;
  /** Removes incoming files that nobody has touched for so long. */
  forgetAbandoned(olderThanMs: number): Promise<void>;
}

/** Keeps outputs below a folder; files appear there whole or not at all. */
export function diskStore(folder: string): MediaStore {
  const incoming = join(folder, '.incoming');
  return {
    incomingDir: async () => {
      await mkdir(incoming, { recursive: true });
      return incoming;
    },
    keep: async (localFile, path) => {
      const target = join(folder, path);
      await mkdir(dirname(target), { recursive: true });
      await rename(localFile, target);
    },
    forgetAbandoned: async (olderThanMs) => {
      await mkdir(incoming, { recursive: true });
      for (const name of await readdir(incoming)) {
        const file = join(incoming, name);
        // Another worker may be quicker.
        const touchedAt = await stat(file).then(
          ({ mtimeMs }) => mtimeMs,
          () => Date.now(),
        );
        if (Date.now() - touchedAt > olderThanMs) await discard(file);
      }
    },
  };
}

/** Removes a local file that may be there. */
export async function discard(localFile: string): Promise<void> {
  await rm(localFile, { force: true });
}
