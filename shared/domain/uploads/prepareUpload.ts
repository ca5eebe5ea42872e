import {
  type DecodedImage,
  decodeImage,
  deleteOriginal,
  getOriginalPath,
  InvalidImageError,
  readStoredFile,
  storeDecodedImage,
  withTempFile,
} from '../../gateways/media/inputImages.ts';
import { isOutage } from '../../lib/database/errors.ts';
import { logger } from '../../lib/logger.ts';
import { ServiceError } from '../../spec/errors.ts';
import type { Upload } from '../../tables/Upload.ts';
import { completeUpload, failUpload, findUploadForUse, reserveFolder } from './uploads.ts';

/**
 * Decodes the file of a pending upload and stores the image without metadata. The file as it was sent is then deleted.
 * @returns the row with its new status, which stays `pending` if no file has arrived.
 * @throws Error if the storage or the decoder is unavailable, see {@link toUnavailableError}.
 */
export async function prepareUpload(upload: Upload): Promise<Upload> {
  if (upload.status !== 'pending') return upload;
  return withTempFile((original) =>
    withTempFile(async (decoded) => {
      try {
        const hasArrived = await readStoredFile(getOriginalPath(upload.media_token), original);
        // Another request may have decoded and deleted it meanwhile.
        if (!hasArrived) return (await findUploadForUse(upload.account_id, upload.uuid)) ?? upload;
        const completed = await storeImage(upload, await decodeImage(original, decoded));
        await discardOriginal(upload);
        return completed ?? upload;
      } catch (error) {
        if (error instanceof InvalidImageError) {
          const failed = await failUpload(upload, error.message);
          await discardOriginal(upload);
          return failed;
        }
        throw error;
      }
    }),
  );
}

/**
 * Stores a decoded image and completes its upload.
 * @returns the row, or undefined if it was deleted meanwhile.
 */
export async function storeImage(upload: Upload, image: DecodedImage): Promise<Upload | undefined> {
  const folder = await reserveFolder();
  await storeDecodedImage(folder.token, image);
  return completeUpload(upload, folder, image);
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
