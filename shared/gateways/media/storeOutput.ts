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
 * Checks that outputs can be stored. A bucket that cannot be reached now is only logged.
 * @throws ConfigError if the configuration has to be changed.
 */
export async function verifyMediaStore(): Promise<void> {
  try {
    await checkTempFolder();
  } catch (error) {
    throw new ConfigError(`MEDIA_DIR is not writable (${(error as Error).message}): set it to a writable folder.`);
  }
  try {
    await getMediaStore().probe();
  } catch (error) {
    const { message } = error as Error;
    const variable = config.MEDIA_S3_BUCKET === undefined ? 'MEDIA_DIR' : 'MEDIA_S3_BUCKET';
    if (error instanceof StoreConfigError) throw new ConfigError(`${variable} cannot be used: ${message}.`);
    logger.warn({ err: error }, 'media store unavailable; will retry');
  }
}

export interface StoreOutputInput {
  output: UpstreamOutput;
  /** Addresses that the output may have. */
  policy: DownloadPolicy;
  kind: ModelKind;
  generationId: string;
  /** File name without extension. */
  name: string;
  mediaToken: string;
}

export interface StoredOutput {
  outputPath: string;
  thumbnailPath: string | null;
}

/**
 * Copies an output to our store with a thumbnail. The paths depend only on the name and the secret token, so a retry
 * after a crash writes the same files. A thumbnail that cannot be made is skipped. An output that came as a local file
 * is kept after an error, for the retry; the caller deletes it.
 * @throws InvalidOutputError if a retry would not help; any other error if it may.
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
    // The output last: if storing the thumbnail fails, an output that came as a file must still exist.
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

/** @returns whether the thumbnail was made. */
async function tryMakeThumbnail(
  { kind, generationId }: StoreOutputInput,
  localFile: string,
  thumbnail: string,
): Promise<boolean> {
  try {
    const image = await makeThumbnail({ kind, filePath: localFile }, { ffmpegPath: config.MEDIA_FFMPEG_PATH });
    await writeFile(thumbnail, image, { flush: true });
    return true;
  } catch (err) {
    logger.warn({ err, generationId }, 'thumbnail not made');
    await deleteTempFile(thumbnail);
    return false;
  }
}

/** Deletes all files of a generation. */
export async function deleteMediaFiles(mediaToken: string): Promise<void> {
  await getMediaStore().deleteFolder(getMediaFolder(mediaToken));
}
