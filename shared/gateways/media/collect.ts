import { writeFile } from 'node:fs/promises';
import { config, ConfigError } from '../../lib/config.ts';
import { logger } from '../../lib/logger.ts';
import type { Kind } from '../../spec/catalog.ts';
import type { UpstreamOutput } from '../upstreams/upstream.ts';
import { download, type Trust } from './download.ts';
import { readHead, sniffFormat } from './formats.ts';
import { discard, newIncomingFile, probeIncoming } from './incoming.ts';
import { UnusableStore } from './mediaStore.ts';
import { folderOf, store } from './store.ts';
import { makeThumbnail } from './thumbnail.ts';

/**
 * Checks that outputs can be stored. A bucket that is out of reach is waited for instead.
 * @throws ConfigError if they cannot.
 */
export async function requireMediaStore(): Promise<void> {
  try {
    await probeIncoming();
  } catch (error) {
    throw new ConfigError(`MEDIA_DIR cannot be written to (${(error as Error).message}): set it to a folder that can.`);
  }
  try {
    await store().probe();
  } catch (error) {
    const { message } = error as Error;
    const variable = config.MEDIA_S3_BUCKET === undefined ? 'MEDIA_DIR' : 'MEDIA_S3_BUCKET';
    if (error instanceof UnusableStore) throw new ConfigError(`${variable} cannot be used: ${message}.`);
    logger.warn({ error: message }, 'outputs cannot be kept now; will be tried again');
  }
}

export interface Delivery {
  output: UpstreamOutput;
  /** What the upstream that delivers is trusted with. */
  trust: Trust;
  kind: Kind;
  generationId: string;
  /** Of its files, without an ending. */
  name: string;
  mediaToken: string;
}

export interface Collected {
  outputPath: string;
  thumbnailPath: string | null;
}

/**
 * Copies an output to our storage and makes its thumbnail. The paths follow from the name and the secret token,
 * so that a second try, after a crash in the middle, puts the same files in the same places.
 * A thumbnail that cannot be made is done without. An output that came as a file comes only once: where this throws,
 * it is left for the next try, and the caller's to discard.
 * @throws UnusableOutput where trying again would not help; any other error where it may.
 */
export async function collectOutput(delivery: Delivery): Promise<Collected> {
  const { output, trust, kind, name, mediaToken } = delivery;
  const folder = folderOf(mediaToken);
  const localFile = 'file' in output ? output.file : await newIncomingFile();
  const localThumbnail = `${localFile}.webp`;
  let isKept = false;
  try {
    const head = 'url' in output ? await download(output, trust, localFile) : await readHead(localFile);
    const { extension, contentType } = sniffFormat(head, kind);
    const original = { localFile, name: `${name}.${extension}`, contentType };
    const thumbnail = { localFile: localThumbnail, name: `${name}.thumbnail.webp`, contentType: 'image/webp' };
    const hasThumbnail = await tryThumbnail(delivery, localFile, localThumbnail);
    // The output last: one that came as a file must still be there where the thumbnail could not be kept.
    await store().keep(folder, hasThumbnail ? [thumbnail, original] : [original]);
    isKept = true;
    return {
      outputPath: `${folder}/${original.name}`,
      thumbnailPath: hasThumbnail ? `${folder}/${thumbnail.name}` : null,
    };
  } finally {
    if (!isKept || !store().movesFiles) {
      await discard(localThumbnail);
      if (isKept || 'url' in output) await discard(localFile);
    }
  }
}

/** @returns whether there is one now. */
async function tryThumbnail({ kind, generationId }: Delivery, localFile: string, thumbnail: string): Promise<boolean> {
  try {
    const picture = await makeThumbnail({ kind, filePath: localFile }, { ffmpegPath: config.MEDIA_FFMPEG_PATH });
    await writeFile(thumbnail, picture, { flush: true });
    return true;
  } catch (error) {
    logger.warn({ generationId, error: (error as Error).message }, 'no thumbnail');
    await discard(thumbnail);
    return false;
  }
}

/** Removes all the files of a generation. */
export async function removeFiles(mediaToken: string): Promise<void> {
  await store().removeFolder(folderOf(mediaToken));
}
