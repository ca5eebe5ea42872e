import { randomUUID } from 'node:crypto';
import { access, constants, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { config } from '../../lib/config.ts';

/** Files on their way in lie on this machine, wherever they are kept in the end: they are looked at here. */
const incomingFolder = () => join(config.MEDIA_DIR, '.incoming');

/** Far longer than a file may be on its way. */
const ABANDONED_MS = 3_600_000;

/** The name of a new file; nothing lies there yet. */
export async function newIncomingFile(): Promise<string> {
  await mkdir(incomingFolder(), { recursive: true });
  return join(incomingFolder(), randomUUID());
}

/** @throws Error where no file could be fetched. */
export async function probeIncoming(): Promise<void> {
  await mkdir(incomingFolder(), { recursive: true });
  await access(incomingFolder(), constants.W_OK);
}

/** Removes a local file that may be there. */
export async function discard(localFile: string): Promise<void> {
  await rm(localFile, { force: true });
}

/** Removes what workers that died had begun to fetch. */
export async function tidyIncoming(): Promise<void> {
  await mkdir(incomingFolder(), { recursive: true });
  for (const name of await readdir(incomingFolder())) {
    const file = join(incomingFolder(), name);
    // Another worker may be quicker.
    const touchedAt = await stat(file).then(
      ({ mtimeMs }) => mtimeMs,
      () => Date.now(),
    );
    if (Date.now() - touchedAt > ABANDONED_MS) await discard(file);
  }
}
