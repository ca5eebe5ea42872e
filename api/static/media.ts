import { once } from 'node:events';
import { resolve } from 'node:path';
import send from 'send';
import { config } from '../../shared/lib/config.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import { MEDIA_CACHE_SECONDS } from '../../shared/gateways/media/mediaStore.ts';
import type { Context } from '../context.ts';
import { HttpError } from '../pipeline/httpError.ts';

/**
 * Serves an output from the disk store, with ranges and conditional requests. The path is unguessable and needs no
 * credential. Caches keep an output for a day at most, after which a deleted one is gone everywhere.
 */
export async function media(ctx: Context): Promise<void> {
  const path = decodePath(ctx.path.slice('/media'.length));
  // With a bucket, nothing is served from the disk, not even older files.
  if (config.MEDIA_S3_BUCKET !== undefined || !OUTPUT_PATH.test(path)) throw fileNotFoundError();
  await sendFile(ctx, path, MEDIA_CACHE_SECONDS);
}

/** Path of an output. The images of customers, which are private, are one folder deeper. */
const OUTPUT_PATH = /^\/[\w-]+\/[\w-]+\/[\w-]+(\.\w+)+$/;

/** Decodes a path, so that an encoded slash counts as one. @throws ServiceError not_found */
function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    throw fileNotFoundError();
  }
}

function fileNotFoundError(): ServiceError {
  return new ServiceError('not_found', 'Not found. The file does not exist or was deleted.');
}

/**
 * Sends a file below MEDIA_DIR.
 * @param cacheSeconds time for which caches may keep it; null if none may.
 * @throws ServiceError not_found; HttpError 412 or 416.
 */
export async function sendFile(ctx: Context, path: string, cacheSeconds: number | null): Promise<void> {
  // A file must not run scripts or be framed, whatever it contains.
  ctx.set('content-security-policy', "default-src 'none'; sandbox");
  ctx.set('cross-origin-resource-policy', 'cross-origin');
  if (cacheSeconds === null) ctx.set('cache-control', 'private, no-store');
  const stream = send(ctx.req, path, {
    root: resolve(config.MEDIA_DIR),
    dotfiles: 'ignore',
    index: false,
    cacheControl: cacheSeconds !== null,
    maxAge: (cacheSeconds ?? 0) * 1_000,
  });
  const failed = once(stream, 'error').then(([error]) => error as { statusCode?: number });
  const missing = new Promise<{ statusCode?: number }>((done) =>
    stream.once('directory', () => done({ statusCode: 404 })),
  );
  ctx.status = 200;
  ctx.respond = false;
  stream.pipe(ctx.res);
  const problem = await Promise.race([failed, missing, once(ctx.res, 'close').then(() => null)]);
  if (problem === null || ctx.res.headersSent) return;
  ctx.respond = true;
  // Headers that `send` set for the file do not apply to the error.
  for (const name of ['cache-control', 'etag', 'last-modified', 'content-type']) ctx.remove(name);
  if (problem.statusCode === 412) {
    throw new HttpError('validation_error', 'If-Match or If-Unmodified-Since: the file has changed.', { status: 412 });
  }
  if (problem.statusCode === 416) {
    throw new HttpError('validation_error', 'Range: the requested range is outside of the file.', { status: 416 });
  }
  throw fileNotFoundError();
}
