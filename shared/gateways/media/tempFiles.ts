import { randomUUID } from 'node:crypto';
import { access, constants, mkdir, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pLimit from 'p-limit';
import { config } from '../../lib/config.ts';
import { perService } from '../../lib/serviceScope.ts';
import { HOUR_MS, MINUTE_MS } from '../../spec/durations.ts';
import { UPLOAD_TIME_LIMIT_MS } from '../../spec/limits.ts';

/** Returns the local folder of incoming files: their format is detected here before they are stored. */
const getTempFolder = () => join(config.MEDIA_DIR, '.incoming');

/** Age from which a file belongs to a dead worker: far longer than any download takes. */
const STALE_TEMP_FILE_MS = HOUR_MS;

/** Returns the path of a new temporary file, which does not exist yet. */
export async function newTempFile(name: string = randomUUID()): Promise<string> {
  await mkdir(getTempFolder(), { recursive: true });
  return join(getTempFolder(), name);
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

/** Age of a reservation of a process that died. */
const STALE_RESERVATION_MS = UPLOAD_TIME_LIMIT_MS + MINUTE_MS;

const RESERVATION_PREFIX = 'upload-';

/** One reservation at a time: of several that exceed a limit together, the first are accepted. */
const oneAtATime = perService(() => pLimit(1));

/**
 * Reserves a name while a function runs, among all processes that share the folder.
 * @param limits maximum number of reserved names by their beginning, for the beginnings of this name.
 * @returns null if the name is reserved already, or too many are.
 */
export async function withReservedName<Result>(
  name: string,
  limits: Readonly<Record<string, number>>,
  use: () => Promise<Result>,
): Promise<Result | null> {
  const file = await oneAtATime()(() => reserveName(name, limits));
  if (file === null) return null;
  try {
    return await use();
  } finally {
    await deleteTempFile(file);
  }
}

/** Counts the reservations with the new one, so that other processes cannot exceed a limit at the same time. */
async function reserveName(name: string, limits: Readonly<Record<string, number>>): Promise<string | null> {
  const file = await newTempFile(`${RESERVATION_PREFIX}${name}`);
  for (const entry of await listReservations()) await deleteOldFile(entry, STALE_RESERVATION_MS);
  if (!(await createFile(file))) return null;
  const reserved = await listReservations();
  const isFull = ([beginning, max]: [string, number]) =>
    name.startsWith(beginning) &&
    reserved.filter((entry) => entry.startsWith(RESERVATION_PREFIX + beginning)).length > max;
  if (!Object.entries(limits).some(isFull)) return file;
  await deleteTempFile(file);
  return null;
}

async function listReservations(): Promise<string[]> {
  return (await readdir(getTempFolder())).filter((entry) => entry.startsWith(RESERVATION_PREFIX));
}

/** @returns false if the file exists. */
async function createFile(file: string): Promise<boolean> {
  try {
    await writeFile(file, '', { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/** Deletes the files of workers that died during a download. */
export async function cleanTempFiles(): Promise<void> {
  await mkdir(getTempFolder(), { recursive: true });
  for (const name of await readdir(getTempFolder())) await deleteOldFile(name, STALE_TEMP_FILE_MS);
}

async function deleteOldFile(name: string, ageMs: number): Promise<void> {
  const file = join(getTempFolder(), name);
  // Another process may have deleted it.
  const touchedAt = await stat(file).then(
    ({ mtimeMs }) => mtimeMs,
    () => Date.now(),
  );
  if (Date.now() - touchedAt > ageMs) await deleteTempFile(file);
}
