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
  // With a bucket, nothing is served from the disk, not even older files.
  if (config.MEDIA_S3_BUCKET !== undefined)
    throw new ServiceError('not_found', 'Not found. The file does not exist or was deleted.');
  const path = ctx.path.slice('/media'.length);
  // An output must not run scripts or be framed, whatever the model produced.
  ctx.set('content-security-policy', "default-src 'none'; sandbox");
  ctx.set('cross-origin-resource-policy', 'cross-origin');
  const stream = send(ctx.req, path, {
    root: resolve(config.MEDIA_DIR),
    dotfiles: 'ignore',
    index: false,
    maxAge: MEDIA_CACHE_SECONDS * 1_000,
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
  throw new ServiceError('not_found', 'Not found. The file does not exist or was deleted.');
}
