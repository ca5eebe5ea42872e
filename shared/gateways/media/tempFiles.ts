import { randomUUID } from 'node:crypto';
import { access, constants, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { config } from '../../lib/config.ts';

/** Files on their way in lie on this machine, wherever they are kept in the end: they are looked at here. */
const getTempFolder = () => join(config.MEDIA_DIR, '.incoming');

/** Far longer than a file may be on its way. */
const STALE_TEMP_FILE_MS = 3_600_000;

/** The name of a new file; nothing lies there yet. */
export async function newTempFile(): Promise<string> {
  await mkdir(getTempFolder(), { recursive: true });
  return join(getTempFolder(), randomUUID());
}

/** @throws Error where no file could be fetched. */
export async function checkTempFolder(): Promise<void> {
  await mkdir(getTempFolder(), { recursive: true });
  await access(getTempFolder(), constants.W_OK);
}

/** Removes a local file that may be there. */
export async function deleteTempFile(localFile: string): Promise<void> {
  await rm(localFile, { force: true });
}

/** Removes what workers that died had begun to fetch. */
export async function cleanTempFiles(): Promise<void> {
  await mkdir(getTempFolder(), { recursive: true });
  for (const name of await readdir(getTempFolder())) {
    const file = join(getTempFolder(), name);
    // Another worker may be quicker.
    const touchedAt = await stat(file).then(
      ({ mtimeMs }) => mtimeMs,
      () => Date.now(),
    );
    if (Date.now() - touchedAt > STALE_TEMP_FILE_MS) await deleteTempFile(file);
  }
}
