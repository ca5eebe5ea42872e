import { config, ConfigError } from '../../lib/config.ts';
import { logger } from '../../lib/logger.ts';
import type { ModelKind } from '../../spec/catalog.ts';
import type { GenerationFile } from '../../tables/Generation.ts';
import { downloadContent, type DownloadPolicy, type DownloadSource } from './download.ts';
import { readHead, sniffFormat } from './formats.ts';
import { deleteTempFile, newTempFile, checkTempFolder } from './tempFiles.ts';
import { type FileContent, StoreConfigError } from './mediaStore.ts';
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
  output: DownloadSource | { file: string };
  /** Claims space for a download whose size becomes known; returns false if there is none. */
  resize?: (bytes: number) => boolean;
  /** Addresses that the output may have. */
  policy: DownloadPolicy;
  kind: ModelKind;
  /** Names the generation, or the trial of staff, in logs. */
  generationId: string;
  /** File name without extension. */
  name: string;
  mediaToken: string;
}

/**
 * Largest image that is kept in memory until it is stored. A larger one goes through a temporary file, and so does a
 * video, because ffmpeg reads files only. The slots of the callers bound how many there are at a time.
 */
const MEMORY_MAX_BYTES = 1024 * 1024;

/**
 * Copies an output to our store with a thumbnail. The paths depend only on the name and the secret token, so a retry
 * after a crash writes the same files. A thumbnail that cannot be made is skipped. An output that came as a local file
 * is kept after an error, for the retry; the caller deletes it.
 * @throws InvalidOutputError if a retry would not help; NoSpaceError if `resize` returned false; any other error if it
 *   may.
 */
export async function storeOutput(input: StoreOutputInput): Promise<GenerationFile> {
  const { output, policy, kind, name, mediaToken, resize } = input;
  const folder = getMediaFolder(mediaToken);
  const tempFiles: string[] = [];
  const newFile = async () => {
    const file = await newTempFile();
    tempFiles.push(file);
    return file;
  };
  try {
    const content =
      'file' in output
        ? { localFile: output.file }
        : await downloadContent(output, policy, kind === 'image' ? MEMORY_MAX_BYTES : 0, newFile, { resize });
    const head = 'data' in content ? content.data : await readHead(content.localFile);
    const { extension, contentType } = sniffFormat(head, kind);
    const original = { name: `${name}.${extension}`, contentType, ...content };
    const data = await tryMakeThumbnail(input, content);
    const thumbnail = data === null ? null : { data, name: `${name}.thumbnail.webp`, contentType: 'image/webp' };
    await getMediaStore().putFiles(folder, thumbnail === null ? [original] : [thumbnail, original]);
    if ('file' in output) tempFiles.push(output.file);
    return {
      output_path: `${folder}/${original.name}`,
      thumbnail_path: thumbnail === null ? null : `${folder}/${thumbnail.name}`,
    };
  } finally {
    // A store may have moved them.
    for (const file of tempFiles) await deleteTempFile(file);
  }
}

/** @returns null if the thumbnail cannot be made. */
async function tryMakeThumbnail(
  { kind, generationId }: StoreOutputInput,
  content: FileContent,
): Promise<Uint8Array | null> {
  try {
    const source =
      'data' in content ? { kind: 'image' as const, data: content.data } : { kind, filePath: content.localFile };
    return await makeThumbnail(source, { ffmpegPath: config.MEDIA_FFMPEG_PATH });
  } catch (err) {
    logger.warn({ err, generationId }, 'thumbnail not made');
    return null;
  }
}

/** Deletes all files of a generation. */
export async function deleteMediaFiles(mediaToken: string): Promise<void> {
  await getMediaStore().deleteFolder(getMediaFolder(mediaToken));
}
