import { randomUUID } from 'node:crypto';
import { access, constants, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { config } from '../../lib/config.ts';
import { HOUR_MS } from '../../spec/durations.ts';

/** Returns the local folder of incoming files: their format is detected here before they are stored. */
const getTempFolder = () => join(config.MEDIA_DIR, '.incoming');

/** Age from which a file belongs to a dead worker: far longer than any download takes. */
const STALE_TEMP_FILE_MS = HOUR_MS;

/** Returns the path of a new temporary file, which does not exist yet. */
export async function newTempFile(): Promise<string> {
  await mkdir(getTempFolder(), { recursive: true });
  return join(getTempFolder(), randomUUID());
}

/** @throws Error if the folder is not writable. */
export async function checkTempFolder(): Promise<void> {
  await mkdir(getTempFolder(), { recursive: true });
  await access(getTempFolder(), constants.W_OK);
}

/** Deletes a local file if it exists. */
export async function deleteTempFile(localFile: string): Promise<void> {
  await rm(localFile, { force: true });
}

/** Deletes the files of workers that died during a download. */
export async function cleanTempFiles(): Promise<void> {
  await mkdir(getTempFolder(), { recursive: true });
  for (const name of await readdir(getTempFolder())) {
    const file = join(getTempFolder(), name);
    // Another worker may have deleted it.
    const touchedAt = await stat(file).then(
      ({ mtimeMs }) => mtimeMs,
      () => Date.now(),
    );
    if (Date.now() - touchedAt > STALE_TEMP_FILE_MS) await deleteTempFile(file);
  }
}
