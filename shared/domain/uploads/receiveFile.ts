import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { storeOriginal, withTempFile } from '../../gateways/media/inputImages.ts';
import { withReservedName } from '../../gateways/media/tempFiles.ts';
import { ServiceError } from '../../spec/errors.ts';
import { Account } from '../../tables/Account.ts';
import { Upload } from '../../tables/Upload.ts';
import { toRegisteredType } from './createUpload.ts';
import { toUnavailableError } from './prepareUpload.ts';

/** A file as a client sends it. */
export interface ReceivedFile {
  contentType: string;
  /** Announced length of the body, if there is one. */
  length: number | undefined;
  body: AsyncIterable<Buffer>;
}

/**
 * Stores the file of an upload if files are on disk. A bucket receives files itself, with the same conditions.
 * @throws ServiceError not_found if the upload has expired; validation_error if the file is not as announced;
 *   internal_error (503) if the storage is unavailable.
 */
export async function receiveFile(uuid: string, { contentType, length, body }: ReceivedFile): Promise<void> {
  const upload = await Upload.query().findById(uuid);
  if (upload === undefined) throw new ServiceError('not_found', 'Not found. The upload has expired.');
  if (upload.status !== 'pending')
    throw new ServiceError('validation_error', 'The upload is complete. Create another one for another file.');
  if (toRegisteredType(contentType) !== upload.content_type)
    throw new ServiceError('validation_error', `Content-Type must be ${upload.content_type}, as announced.`);
  if (length !== undefined && length !== upload.bytes) throw lengthError(upload.bytes);
  const { prefix, limits } = await buildPlaces(upload.account_id);
  const received = await withReservedName(`${prefix}${uuid}`, limits, () =>
    withTempFile(async (localFile) => {
      await pipeline(limitBytes(readBody(body), upload.bytes), createWriteStream(localFile, { flush: true }));
      await storeOriginal(upload.media_token, localFile);
      return true;
    }),
  ).catch((error: unknown) => {
    throw toUnavailableError(error);
  });
  if (received === null)
    throw new ServiceError(
      'rate_limited',
      `Another request is sending the file of this upload, ${limits[prefix]} files of the account are arriving, or the service is receiving too many files. Wait, then try again.`,
      { retryAfterSeconds: 5 },
    );
}

/**
 * Returns how many files can arrive at a time: of the account, and on this machine or shared folder. An address takes
 * one request at a time. Test accounts are free, so that all of them together must leave places for the others.
 */
async function buildPlaces(accountId: number): Promise<{ prefix: string; limits: Record<string, number> }> {
  const { live_account_id: liveId } = await Account.query().findById(accountId).throwIfNotFound();
  const prefix = `${liveId === null ? 'live' : 'test'}-${accountId}-`;
  return { prefix, limits: { '': 64, 'test-': 16, [prefix]: liveId === null ? 8 : 4 } };
}

/** Passes the body on. @throws ServiceError validation_error if the client disconnects before it has sent it. */
async function* readBody(body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* body;
  } catch {
    throw new ServiceError(
      'validation_error',
      'The connection ended before the whole file had arrived. Send it again.',
    );
  }
}

/** Passes the body on. @throws ServiceError validation_error unless it has exactly this many bytes. */
async function* limitBytes(body: AsyncIterable<Buffer>, expected: number): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
    if (bytes > expected) throw lengthError(expected);
    yield chunk;
  }
  if (bytes !== expected) throw lengthError(expected);
}

function lengthError(expected: number): ServiceError {
  return new ServiceError('validation_error', `The body must have ${expected} bytes, as announced.`);
}
