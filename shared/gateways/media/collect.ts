import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { config } from '../../lib/config.ts';
import { logger } from '../../lib/logger.ts';
import type { Kind } from '../../spec/catalog.ts';
import { discard, diskStore } from './diskStore.ts';
import { download, sniffExtension } from './download.ts';
import { makeThumbnail } from './thumbnail.ts';

/** Far longer than a download may take. */
const ABANDONED_MS = 3_600_000;

const store = diskStore(config.MEDIA_DIR);
const ownHost = new URL(config.FAL_BASE_URL).host;

/** Ends the process, with a sentence, where outputs could not be kept. */
export async function requireMediaDir(): Promise<void> {
  try {
    await store.incomingDir();
  } catch (error) {
    process.stderr.write(
      `MEDIA_DIR cannot be written to (${(error as Error).message}): set it to a folder that can.\n`,
    );
    process.exit(78);
  }
}

export interface Collected {
  outputPath: string;
  thumbnailPath: string | null;
}

/**
 * Copies an output to our storage and makes its thumbnail. The paths follow from the generation and its secret token,
 * so that a second try, after a crash in the middle, puts the same files in the same places.
 * A thumbnail that cannot be made is done without.
 * @throws UnusableOutput where trying again would not help; any other error where it may.
 */
export async function collectOutput(
  outputUrl: string,
  kind: Kind,
  generationId: string,
  mediaToken: string,
): Promise<Collected> {
  const incoming = join(await store.incomingDir(), randomUUID());
  const thumbnail = `${incoming}.webp`;
  const folder = folderOf(mediaToken);
  try {
    await download(outputUrl, ownHost, incoming);
    const outputPath = `${folder}/${generationId}.${await sniffExtension(incoming, kind)}`;
    const thumbnailPath = `${folder}/${generationId}.thumbnail.webp`;
    const hasThumbnail = await makeThumbnail({ kind, filePath: incoming }, thumbnail, {
      ffmpegPath: config.MEDIA_FFMPEG_PATH,
    }).then(
      () => true,
      (error: unknown) => {
        logger.warn({ generationId, error: (error as Error).message }, 'no thumbnail');
        return false;
      },
    );
    if (hasThumbnail) await store.keep(thumbnail, thumbnailPath);
    await store.keep(incoming, outputPath);
    return { outputPath, thumbnailPath: hasThumbnail ? thumbnailPath : null };
  } catch (error) {
    await Promise.all([discard(incoming), discard(thumbnail)]);
    throw error;
  }
}

/** Removes what workers that died had begun to fetch. */
export async function tidyIncoming(): Promise<void> {
  await store.forgetAbandoned(ABANDONED_MS);
}

/** `ab/cdef…`: 122 random bits that nobody can guess, spread over 256 folders. */
function folderOf(mediaToken: string): string {
  const hex = mediaToken.replaceAll('-', '');
  return `${hex.slice(0, 2)}/${hex.slice(2)}`;
}
