import { config } from '../../lib/config.ts';
import { logger } from '../../lib/logger.ts';
import type { Kind } from '../../spec/catalog.ts';
import type { UpstreamOutput } from '../upstreams/upstream.ts';
import { download, type Trust } from './download.ts';
import { sniffFormat } from './formats.ts';
import { discard, newIncomingFile, probeIncoming } from './incoming.ts';
import { UnusableStore } from './mediaStore.ts';
import { folderOf, store } from './store.ts';
import { makeThumbnail } from './thumbnail.ts';

/** Ends the process, with a sentence, where outputs could not be kept. A bucket that is away is waited for instead. */
export async function requireMediaStore(): Promise<void> {
  try {
    await probeIncoming();
  } catch (error) {
    giveUp(`MEDIA_DIR cannot be written to (${(error as Error).message}): set it to a folder that can.`);
  }
  try {
    await store.probe();
  } catch (error) {
    const { message } = error as Error;
    const variable = config.MEDIA_S3_BUCKET === undefined ? 'MEDIA_DIR' : 'MEDIA_S3_BUCKET';
    if (error instanceof UnusableStore) giveUp(`${variable} cannot be used: ${message}.`);
    logger.warn({ error: message }, 'outputs cannot be kept now; will be tried again');
  }
}

function giveUp(sentence: string): never {
  process.stderr.write(`${sentence}\n`);
  process.exit(78);
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
  const localFile = 'file' in output ? output.file : await newIncomingFile();
  const thumbnail = `${localFile}.webp`;
  const path = `${folderOf(mediaToken)}/${name}`;
  let isKept = false;
  try {
    if ('url' in output) await download(output, trust, localFile);
    const { extension, contentType } = await sniffFormat(localFile, kind);
    const outputPath = `${path}.${extension}`;
    const thumbnailPath = (await tryThumbnail(delivery, localFile, thumbnail)) ? `${path}.thumbnail.webp` : null;
    if (thumbnailPath !== null) await store.keep(thumbnail, thumbnailPath, 'image/webp');
    await store.keep(localFile, outputPath, contentType);
    isKept = true;
    return { outputPath, thumbnailPath };
  } finally {
    // What was moved to its place is not there any more.
    await discard(thumbnail);
    if (isKept || 'url' in output) await discard(localFile);
  }
}

/** @returns whether there is one now. */
async function tryThumbnail({ kind, generationId }: Delivery, localFile: string, thumbnail: string): Promise<boolean> {
  try {
    await makeThumbnail({ kind, filePath: localFile }, thumbnail, { ffmpegPath: config.MEDIA_FFMPEG_PATH });
    return true;
  } catch (error) {
    logger.warn({ generationId, error: (error as Error).message }, 'no thumbnail');
    return false;
  }
}

/** Removes all the files of a generation. */
export async function removeFiles(mediaToken: string): Promise<void> {
  await store.removeFolder(folderOf(mediaToken));
}
