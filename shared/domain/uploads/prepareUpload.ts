import {
  decodeImage,
  deleteOriginal,
  fetchImage,
  getOriginalPath,
  InvalidImageError,
  readFileSize,
  readStoredFile,
  storeDecodedImage,
  withTempFile,
} from '../../gateways/media/inputImages.ts';
import { isOutage } from '../../lib/database/errors.ts';
import { logger } from '../../lib/logger.ts';
import { ServiceError } from '../../spec/errors.ts';
import { IMAGE_MAX_BYTES } from '../../spec/limits.ts';
import { Upload } from '../../tables/Upload.ts';
import { addUpload, completeUpload, failUpload, findUploadForUse, reserveFolder } from './uploads.ts';

/**
 * Decodes the file of a pending upload and stores the image without metadata. The file as it was sent is then deleted.
 * @returns the row with its new status, which stays `pending` if no file has arrived.
 * @throws Error if the storage or the decoder is unavailable, see {@link toUnavailableError}.
 */
export async function prepareUpload(upload: Upload): Promise<Upload> {
  if (upload.status !== 'pending') return upload;
  return withTempFile(async (original) => {
    const current = await failInvalid(upload, async () => {
      const hasArrived = await readStoredFile(getOriginalPath(upload.media_token), original);
      // Another request may have decoded and deleted it meanwhile.
      return hasArrived ? decodeUpload(upload, original) : findUploadForUse(upload.account_id, upload.uuid);
    });
    if (current !== undefined && current.status !== 'pending') await discardOriginal(upload);
    return current ?? upload;
  });
}

/**
 * Decodes a local file and stores the image in its upload, which fails if the image cannot be used.
 * @returns the row, or undefined if it was deleted meanwhile.
 */
export async function decodeUpload(upload: Upload, original: string): Promise<Upload | undefined> {
  return failInvalid(upload, () =>
    withTempFile(async (decoded) => {
      const image = await decodeImage(original, decoded, upload.account_id);
      const token = await reserveFolder();
      await storeDecodedImage(token, image);
      return completeUpload(upload, token, image);
    }),
  );
}

/**
 * Fetches the image at an address of a customer into a new upload, which counts as the largest image meanwhile. What
 * arrives counts also if it cannot be used: otherwise nothing would limit how much is fetched.
 * @returns as {@link decodeUpload}.
 * @throws InvalidImageError if the image could not be fetched; ServiceError rate_limited; Error as
 *   {@link prepareUpload}.
 */
export async function fetchUpload(accountId: number, url: string): Promise<Upload | undefined> {
  return withTempFile(async (original) => {
    const upload = await addUpload({ accountId, source: 'url', contentType: 'image/png', bytes: IMAGE_MAX_BYTES });
    try {
      await fetchImage(url, original);
      upload.bytes = await readFileSize(original);
      return await decodeUpload(upload, original);
    } catch (error) {
      upload.bytes = await readFileSize(original);
      if (upload.bytes === 0) await Upload.query().deleteById(upload.uuid);
      else
        await failUpload(upload, error instanceof InvalidImageError ? error.message : 'The image was not processed.');
      throw error;
    }
  });
}

async function failInvalid(upload: Upload, work: () => Promise<Upload | undefined>): Promise<Upload | undefined> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof InvalidImageError) return failUpload(upload, error.message);
    throw error;
  }
}

/** Deletes the file as it was sent. After a failure it is deleted later, see {@link completeUpload}. */
async function discardOriginal({ uuid, media_token: token }: Upload): Promise<void> {
  await deleteOriginal(token).catch((err: unknown) =>
    logger.warn({ err, upload: uuid }, 'file of an upload not deleted; it is deleted later'),
  );
}

/** Turns a fault of the storage or the decoder into a temporary error. Others stay as they are. */
export function toUnavailableError(error: unknown): Error {
  if (error instanceof ServiceError || isOutage(error)) return error as Error;
  logger.error({ err: error }, 'input image not prepared');
  return new ServiceError(
    'internal_error',
    'The image could not be processed: the service is temporarily unavailable. This attempt charged nothing. Try again in a few seconds.',
    { retryAfterSeconds: 5 },
  );
}
