import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import pRetry from 'p-retry';
import { tooLargeError } from './download.ts';
import {
  type FinishedFile,
  MEDIA_CACHE_SECONDS,
  type MediaStore,
  type PresignedRequest,
  StoreConfigError,
} from './mediaStore.ts';
import { connectS3, S3_LIMITS, type S3Connection, type S3Limits, type S3Options } from './s3Connection.ts';

const RETRY_DELAY_MS = 500;
const CACHE_CONTROL = `public, max-age=${MEDIA_CACHE_SECONDS}`;

/** Stores outputs in a bucket of any S3-compatible store. An interrupted upload leaves nothing behind. */
export function s3Store(options: S3Options, limits: S3Limits = S3_LIMITS): MediaStore {
  let connection: Promise<S3Connection> | undefined;
  const connect = () => (connection ??= connectS3(options, limits));
  return {
    putFiles: async (folder, files) => {
      for (const file of files) await upload(await connect(), `${folder}/${file.name}`, file);
    },
    openFile: async (path, maxBytes) => {
      // The reader may be slower than the store: once it responds, only inactivity of the connection is limited, also
      // while the reader takes nothing.
      const limit = new AbortController();
      const timer = setTimeout(() => limit.abort(), limits.requestMs);
      try {
        return await openObject(await connect(), path, maxBytes, limit.signal);
      } finally {
        clearTimeout(timer);
      }
    },
    presign: async (request) => presign(await connect(), request),
    deleteFolder: async (folder) => deletePrefix(await connect(), folder),
    probe: async () => probe(await connect()),
    close: async () => (await connection)?.client.destroy(),
  };
}

/** Uploads a file with retries, because the SDK does not retry requests with a stream as body. */
async function upload(connection: S3Connection, path: string, file: FinishedFile): Promise<void> {
  const { limits } = connection;
  const size = 'data' in file ? file.data.length : (await stat(file.localFile)).size;
  const signal = AbortSignal.timeout(limits.uploadMs + Math.ceil(size / limits.minBytesPerMs));
  await pRetry(() => putObject(connection, path, file, size, signal), {
    retries: limits.attempts - 1,
    minTimeout: RETRY_DELAY_MS,
    shouldRetry: ({ error }) => !(error instanceof StoreConfigError) && !signal.aborted,
  });
}

async function putObject(
  { client, sdk, bucket, toKey, withExplainedErrors }: S3Connection,
  path: string,
  file: FinishedFile,
  size: number,
  signal: AbortSignal,
): Promise<void> {
  // A stream also for data in memory: the SDK would repeat the requests that `upload` repeats.
  const body: Readable = 'data' in file ? Readable.from([file.data]) : createReadStream(file.localFile);
  const unreadable = new AbortController();
  body.once('error', (error) => unreadable.abort(error));
  const command = new sdk.PutObjectCommand({
    Bucket: bucket,
    Key: toKey(path),
    Body: body,
    ContentLength: size,
    ContentType: file.contentType,
    CacheControl: file.isPrivate === true ? 'private, no-store' : CACHE_CONTROL,
  });
  try {
    await withExplainedErrors(client.send(command, { abortSignal: AbortSignal.any([signal, unreadable.signal]) }));
  } catch (error) {
    unreadable.signal.throwIfAborted();
    throw error;
  } finally {
    body.destroy();
  }
}

/** Opens the content of an object of limited size. Returns null if it does not exist. */
async function openObject(
  { client, sdk, bucket, toKey, withExplainedErrors }: S3Connection,
  path: string,
  maxBytes: number,
  abortSignal: AbortSignal,
): Promise<Readable | null> {
  const command = new sdk.GetObjectCommand({ Bucket: bucket, Key: toKey(path) });
  const response = await withExplainedErrors(
    client.send(command, { abortSignal }).catch((error: Error) => {
      if (error.name === 'NoSuchKey') return null;
      throw error;
    }),
  );
  if (response === null) return null;
  const body = response.Body as Readable;
  if ((response.ContentLength ?? 0) > maxBytes) {
    body.destroy();
    throw tooLargeError(maxBytes, 'image');
  }
  return body;
}

/** Signs with the credentials that the client uses at this moment. Sends nothing. */
async function presign(
  { client, sdk, bucket, toKey }: S3Connection,
  { path, upload, expiresInSeconds: expiresIn }: PresignedRequest,
): Promise<string> {
  const { getSignedUrl } = await import('@aws-sdk/s3-request-presigner');
  const object = { Bucket: bucket, Key: toKey(path) };
  if (upload === undefined) return getSignedUrl(client, new sdk.GetObjectCommand(object), { expiresIn });
  const { contentType: ContentType, bytes: ContentLength } = upload;
  const command = new sdk.PutObjectCommand({ ...object, ContentType, ContentLength });
  // The length is always signed, the type only on request.
  return getSignedUrl(client, command, { expiresIn, signableHeaders: new Set(['content-type']) });
}

async function deletePrefix(connection: S3Connection, folder: string): Promise<void> {
  const { client, sdk, bucket, toKey, withExplainedErrors, limits } = connection;
  let token: string | undefined;
  do {
    const list = new sdk.ListObjectsV2Command({
      Bucket: bucket,
      Prefix: `${toKey(folder)}/`,
      ContinuationToken: token,
    });
    const page = await withExplainedErrors(client.send(list, { abortSignal: AbortSignal.timeout(limits.requestMs) }));
    // One by one: some stores require a checksum for a bulk delete that others do not support.
    for (const { Key } of page.Contents ?? []) {
      await deleteObject(connection, Key as string, AbortSignal.timeout(limits.requestMs));
    }
    token = page.NextContinuationToken;
  } while (token !== undefined);
}

async function deleteObject(
  { client, sdk, bucket, withExplainedErrors }: S3Connection,
  key: string,
  abortSignal: AbortSignal,
): Promise<void> {
  const command = new sdk.DeleteObjectCommand({ Bucket: bucket, Key: key });
  const deleted = client.send(command, { abortSignal }).catch((error: Error) => {
    // Another worker has deleted it. Not every store reports that as a success.
    if (error.name !== 'NoSuchKey') throw error;
  });
  await withExplainedErrors(deleted);
}

/** Puts, lists and deletes a small object, so that missing permissions are found at the start. */
async function probe(connection: S3Connection): Promise<void> {
  const { client, sdk, bucket, toKey, withExplainedErrors, limits } = connection;
  const abortSignal = AbortSignal.timeout(limits.probeMs);
  const key = toKey('.probe');
  await withExplainedErrors(
    client.send(new sdk.PutObjectCommand({ Bucket: bucket, Key: key, Body: 'probe' }), { abortSignal }),
  );
  const list = new sdk.ListObjectsV2Command({ Bucket: bucket, Prefix: key, MaxKeys: 1 });
  await withExplainedErrors(client.send(list, { abortSignal }));
  await deleteObject(connection, key, abortSignal);
}
