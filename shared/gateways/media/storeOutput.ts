import { writeFile } from 'node:fs/promises';
import { config, ConfigError } from '../../lib/config.ts';
import { logger } from '../../lib/logger.ts';
import type { ModelKind } from '../../spec/catalog.ts';
import type { UpstreamOutput } from '../upstreams/upstream.ts';
import { download, type DownloadPolicy } from './download.ts';
import { readHead, sniffFormat } from './formats.ts';
import { deleteTempFile, newTempFile, checkTempFolder } from './tempFiles.ts';
import { StoreConfigError } from './mediaStore.ts';
import { getMediaFolder, getMediaStore } from './configuredStore.ts';
import { makeThumbnail } from './thumbnail.ts';

/**
 * Checks that outputs can be stored. A bucket that is out of reach is waited for instead.
 * @throws ConfigError if they cannot.
 */
export async function verifyMediaStore(): Promise<void> {
  try {
    await checkTempFolder();
  } catch (error) {
    throw new ConfigError(`MEDIA_DIR cannot be written to (${(error as Error).message}): set it to a folder that can.`);
  }
  try {
    await getMediaStore().probe();
  } catch (error) {
    const { message } = error as Error;
    const variable = config.MEDIA_S3_BUCKET === undefined ? 'MEDIA_DIR' : 'MEDIA_S3_BUCKET';
    if (error instanceof StoreConfigError) throw new ConfigError(`${variable} cannot be used: ${message}.`);
    logger.warn({ error: message }, 'outputs cannot be kept now; will be tried again');
  }
}

export interface StoreOutputInput {
  output: UpstreamOutput;
  /** What the upstream that delivers is trusted with. */
  policy: DownloadPolicy;
  kind: ModelKind;
  generationId: string;
  /** Of its files, without an ending. */
  name: string;
  mediaToken: string;
}

export interface StoredOutput {
  outputPath: string;
  thumbnailPath: string | null;
}

/**
 * Copies an output to our storage and makes its thumbnail. The paths follow from the name and the secret token,
 * so that a second try, after a crash in the middle, puts the same files in the same places.
 * A thumbnail that cannot be made is done without. An output that came as a file comes only once: where this throws,
 * it is left for the next try, and the caller's to discard.
 * @throws InvalidOutputError where trying again would not help; any other error where it may.
 */
export async function storeOutput(input: StoreOutputInput): Promise<StoredOutput> {
  const { output, policy, kind, name, mediaToken } = input;
  const folder = getMediaFolder(mediaToken);
  const localFile = 'file' in output ? output.file : await newTempFile();
  const localThumbnail = `${localFile}.webp`;
  let isStored = false;
  try {
    const head = 'url' in output ? await download(output, policy, localFile) : await readHead(localFile);
    const { extension, contentType } = sniffFormat(head, kind);
    const original = { localFile, name: `${name}.${extension}`, contentType };
    const thumbnail = { localFile: localThumbnail, name: `${name}.thumbnail.webp`, contentType: 'image/webp' };
    const hasThumbnail = await tryMakeThumbnail(input, localFile, localThumbnail);
    // The output last: one that came as a file must still be there where the thumbnail could not be kept.
    await getMediaStore().putFiles(folder, hasThumbnail ? [thumbnail, original] : [original]);
    isStored = true;
    return {
      outputPath: `${folder}/${original.name}`,
      thumbnailPath: hasThumbnail ? `${folder}/${thumbnail.name}` : null,
    };
  } finally {
    if (!isStored || !getMediaStore().movesFiles) {
      await deleteTempFile(localThumbnail);
      if (isStored || 'url' in output) await deleteTempFile(localFile);
    }
  }
}

/** @returns whether there is one now. */
async function tryMakeThumbnail(
  { kind, generationId }: StoreOutputInput,
  localFile: string,
  thumbnail: string,
): Promise<boolean> {
  try {
    const image = await makeThumbnail({ kind, filePath: localFile }, { ffmpegPath: config.MEDIA_FFMPEG_PATH });
    await writeFile(thumbnail, image, { flush: true });
    return true;
  } catch (error) {
    logger.warn({ generationId, error: (error as Error).message }, 'no thumbnail');
    await deleteTempFile(thumbnail);
    return false;
  }
}

/** Removes all the files of a generation. */
export async function deleteMediaFiles(mediaToken: string): Promise<void> {
  await getMediaStore().deleteFolder(getMediaFolder(mediaToken));
}
