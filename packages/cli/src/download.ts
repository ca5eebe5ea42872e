import { accessSync, constants, createWriteStream, existsSync, statSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Generation } from '@genmeter/client';
import { CommandError, EXIT } from './terminal.ts';

const isFolder = (path: string): boolean => existsSync(path) && statSync(path).isDirectory();

/** Checks, before credits are charged, that an output can be stored. @throws CommandError otherwise. */
export function requireTarget(target: string | undefined): void {
  if (target === undefined) return;
  const folder = isFolder(target) ? target : dirname(target);
  try {
    // Fails as well if the folder does not exist.
    accessSync(folder, constants.W_OK);
    if (!isFolder(folder)) throw new Error('it is not a folder');
  } catch (error) {
    const reason = (error as Error).message;
    const detail = `The output cannot be stored in the folder ${folder} of --output: ${reason}. Nothing was requested.`;
    throw new CommandError(EXIT.usage, 'usage', detail);
  }
}

/**
 * Stores the output of a generation. A file of that name appears only when it is complete.
 * @param target a file, or an existing folder for a file named by the uuid.
 * @returns the path of the file.
 */
export async function downloadOutput(generation: Generation, target: string, signal: AbortSignal): Promise<string> {
  const { output_url: url, uuid } = generation;
  if (url === null) throw new CommandError(EXIT.failure, 'no_output', `Generation ${uuid} has no output.`);
  const file = isFolder(target) ? join(target, nameFile(uuid, url)) : target;
  const partial = `${file}.part`;
  try {
    const response = await fetch(url, { signal });
    if (!response.ok || response.body === null) throw new Error(`status ${response.status}`);
    await pipeline(response.body as AsyncIterable<Uint8Array>, createWriteStream(partial), { signal });
    await rename(partial, file);
  } catch (error) {
    // The reason to report is why it could not be stored, not why its part could not be removed.
    await rm(partial, { force: true }).catch(() => {});
    signal.throwIfAborted();
    const reason = (error as Error & { cause?: Error }).cause?.message ?? (error as Error).message;
    throw new CommandError(
      EXIT.temporary,
      'download_failed',
      `The output could not be stored (${reason}). Repeat it with: genmeter get ${uuid} -o ${target}`,
    );
  }
  return file;
}

/** Returns a name without folders and control characters, whatever the service returns as uuid. */
function nameFile(uuid: string, url: string): string {
  return `${uuid.replaceAll(/[^\w-]/g, '_')}${/\.\w+$/.exec(new URL(url).pathname)?.[0] ?? ''}`;
}
