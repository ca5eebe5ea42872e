import { stat, writeFile } from 'node:fs/promises';
import { hasImageModels } from '../../lib/catalog/catalog.ts';
import { config, ConfigError } from '../../lib/config.ts';
import { getServerSecret } from '../../lib/serverSecret.ts';
import { IMAGE_MAX_BYTES } from '../../spec/limits.ts';
import { getMediaFolder, getMediaStore } from './configuredStore.ts';
import { download, InvalidOutputError, LocalFileError } from './download.ts';
import { verifyMediaStore } from './storeOutput.ts';
import { flushToDisk } from './flushToDisk.ts';
import { readHead, sniffFormat } from './formats.ts';
import { cleanTempFiles, deleteTempFile, newTempFile } from './tempFiles.ts';
import { DecodeError, reencodeImage } from './thumbnail.ts';

/** An image of a customer that cannot be used. The message is a sentence for the customer. */
export class InvalidImageError extends Error {}

/** A decoded image in a local file, upright and without metadata. */
export interface DecodedImage {
  localFile: string;
  contentType: string;
  width: number;
  height: number;
  bytes: number;
}

/** Types of stored images, with the extension of their files. */
const EXTENSIONS: Record<string, string> = { 'image/png': 'png', 'image/jpeg': 'jpg', 'image/webp': 'webp' };
const DAMAGED_DETAIL = 'The image cannot be decoded: it must be an undamaged PNG, JPEG or WebP file.';
/** Sentences about images that are not decoded, by the limit in the decoder's message. */
const LIMIT_DETAILS: readonly [RegExp, string][] = [
  [/pixel limit/i, 'The image has more than 50 megapixels, or a side of more than 30,000 pixels. Make it smaller.'],
  [
    /memory limit/,
    'The image takes too much memory: a WebP may have 16.8 megapixels, or 8.4 with transparency, and a progressive, interlaced or rotated image 26, or 50 with 8 bits and one of these only. Make it smaller, or save it as a baseline JPEG or a PNG.',
  ],
];
export const IMAGE_CONTENT_TYPES = ['image/png', 'image/jpeg', 'image/webp'] as const;

/** Limits of a fetch: a request waits for it. */
const FETCH_LIMITS = { maxBytes: IMAGE_MAX_BYTES, timeoutMs: 15_000, idleMs: 5_000 };

/** Folder in the media store for customers' images, apart from the outputs, which are public. */
const UPLOADS_FOLDER = 'uploads';
const ORIGINAL_NAME = 'file';

/**
 * Checks at the start that images can be stored, and that their addresses cannot be forged, and deletes the temporary
 * files of processes that died. Does nothing if no model takes images.
 * @throws ConfigError
 */
export async function verifyImageStore(): Promise<void> {
  if (!hasImageModels()) return;
  if (config.NODE_ENV === 'production' && config.MEDIA_S3_BUCKET === undefined && getServerSecret() === '') {
    throw new ConfigError(
      'SECRET_KEY is not set, but models of CATALOG take images: their addresses are signed with it. Set a random one: openssl rand -hex 32',
    );
  }
  await verifyMediaStore();
  await cleanTempFiles();
}

/** Returns the path of the file as the customer sent it. It is deleted once it is decoded. */
export function getOriginalPath(mediaToken: string): string {
  return `${getOriginalFolder(mediaToken)}/${ORIGINAL_NAME}`;
}

/** Returns the path of a decoded image. */
export function getImagePath(mediaToken: string, contentType: string): string {
  return `${getUploadFolder(mediaToken)}/${getImageName(contentType)}`;
}

/** Returns the file name of a decoded image. */
export function getImageName(contentType: string): string {
  return `image.${EXTENSIONS[contentType] ?? 'png'}`;
}

function getUploadFolder(mediaToken: string): string {
  return `${UPLOADS_FOLDER}/${getMediaFolder(mediaToken)}`;
}

function getOriginalFolder(mediaToken: string): string {
  return `${getUploadFolder(mediaToken)}/original`;
}

/** Runs a function with the path of a new temporary file, and deletes the file afterwards. */
export async function withTempFile<Result>(use: (localFile: string) => Promise<Result>): Promise<Result> {
  const localFile = await newTempFile();
  try {
    return await use(localFile);
  } finally {
    await deleteTempFile(localFile);
  }
}

/**
 * Fetches an image from an address that a customer chose.
 * @throws InvalidImageError; LocalFileError if our disk is at fault
 */
export async function fetchImage(url: string, localFile: string): Promise<void> {
  const allowsPrivateAddresses = config.INPUT_IMAGE_ADDRESSES === 'any';
  const policy = { upstreamHost: '', allowsPrivateAddresses, isCustomers: true };
  try {
    await download({ url }, policy, localFile, FETCH_LIMITS);
  } catch (error) {
    if (error instanceof LocalFileError) throw error;
    if (error instanceof InvalidOutputError) throw new InvalidImageError(error.message, { cause: error });
    const message = 'The image could not be fetched from its address. Check the address, or upload the image.';
    throw new InvalidImageError(message, { cause: error });
  }
}

/** Returns the size of a local file, which is 0 if it does not exist. */
export async function readFileSize(localFile: string): Promise<number> {
  return (await stat(localFile).catch(() => ({ size: 0 }))).size;
}

/**
 * Copies a stored file to a new local file.
 * @returns false if it does not exist.
 * @throws InvalidImageError if it is too large.
 */
export async function readStoredFile(path: string, localFile: string): Promise<boolean> {
  try {
    const content = await getMediaStore().openFile(path, IMAGE_MAX_BYTES);
    if (content !== null) await writeFile(localFile, content);
    return content !== null;
  } catch (error) {
    if (error instanceof InvalidOutputError) throw new InvalidImageError(error.message, { cause: error });
    throw error;
  }
}

/**
 * Decodes an image in the decoder process and writes it, without metadata, to a second file.
 * @throws InvalidImageError if it is not an image of a supported type, or is too large; LocalFileError if our disk is
 *   at fault
 */
export async function decodeImage(
  localFile: string,
  outputFile: string,
  accountId: number,
  maxBytes = IMAGE_MAX_BYTES,
): Promise<DecodedImage> {
  try {
    const { format, width, height, bytes } = await reencodeImage(localFile, outputFile, accountId);
    if (bytes > maxBytes) {
      const limit = `more than ${maxBytes / 1_000_000} MB when it is encoded without its metadata`;
      throw new InvalidImageError(`The image has ${limit}. Make it smaller.`);
    }
    await flushToDisk(outputFile, 'file');
    return { localFile: outputFile, contentType: `image/${format}`, width, height, bytes };
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    const limit = LIMIT_DETAILS.find(([pattern]) => pattern.test(error.message));
    throw new InvalidImageError(limit?.[1] ?? DAMAGED_DETAIL, { cause: error });
  }
}

/**
 * Describes a local file before it is decoded: its type by its first bytes, and its size.
 * @throws InvalidImageError if it is not an image of a supported type.
 */
export async function describeFile(localFile: string): Promise<{ contentType: string; bytes: number }> {
  try {
    const { contentType } = sniffFormat(await readHead(localFile), 'image');
    return { contentType, bytes: (await stat(localFile)).size };
  } catch (error) {
    if (error instanceof InvalidOutputError) throw new InvalidImageError(DAMAGED_DETAIL, { cause: error });
    throw error;
  }
}

/** Stores a decoded image under the token. */
export async function storeDecodedImage(mediaToken: string, image: DecodedImage): Promise<void> {
  const { localFile, contentType } = image;
  const file = { localFile, name: getImageName(contentType), contentType, isPrivate: true };
  await getMediaStore().putFiles(getUploadFolder(mediaToken), [file]);
}

/** Stores a file as the customer sent it. */
export async function storeOriginal(mediaToken: string, localFile: string): Promise<void> {
  const file = { localFile, name: ORIGINAL_NAME, contentType: 'application/octet-stream', isPrivate: true };
  await getMediaStore().putFiles(getOriginalFolder(mediaToken), [file]);
}

/** Deletes the file as the customer sent it. */
export async function deleteOriginal(mediaToken: string): Promise<void> {
  await getMediaStore().deleteFolder(getOriginalFolder(mediaToken));
}

/** Deletes all files of an upload. */
export async function deleteUploadFiles(mediaToken: string): Promise<void> {
  await getMediaStore().deleteFolder(getUploadFolder(mediaToken));
}

/** Writes bytes to a local file. */
export async function writeLocalFile(localFile: string, bytes: Buffer): Promise<void> {
  await writeFile(localFile, bytes);
}
