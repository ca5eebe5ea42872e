import { isSignedRequest, ORIGINAL_FILE } from '../../../shared/domain/uploads/uploadAddresses.ts';
import { receiveFile } from '../../../shared/domain/uploads/receiveFile.ts';
import { requireImageModels } from '../../../shared/domain/uploads/createUpload.ts';
import { findStoredImage } from '../../../shared/domain/uploads/uploads.ts';
import { config } from '../../../shared/lib/config.ts';
import { ServiceError } from '../../../shared/spec/errors.ts';
import { allowSlowBody } from '../../bodyTimeLimit.ts';
import type { Context } from '../../context.ts';
import { getPathParam, parseUuidParam } from '../../pipeline/requestParameters.ts';
import { sendFile } from '../../static/media.ts';

/** Receives the file of an upload at its signed address. A bucket receives files itself. */
export async function receiveUpload(ctx: Context): Promise<void> {
  const uuid = requireSignature(ctx, 'PUT', ORIGINAL_FILE);
  allowSlowBody(ctx.req);
  await receiveFile(uuid, { contentType: ctx.get('content-type'), length: ctx.request.length, body: ctx.req });
  ctx.status = 200;
  ctx.body = '';
}

/** Serves an image at its signed address, for upstreams. */
export async function serveUpload(ctx: Context): Promise<void> {
  const file = getPathParam(ctx, 'file');
  const uuid = requireSignature(ctx, 'GET', file);
  const image = await findStoredImage(uuid);
  if (image?.name !== file) throw new ServiceError('not_found', 'Not found. The image was deleted.');
  await sendFile(ctx, `/${image.path}`, null);
}

/** @throws ServiceError not_found if this service has not signed the address, or it has expired. */
function requireSignature(ctx: Context, method: 'GET' | 'PUT', file: string): string {
  requireImageModels();
  const uuid = parseUuidParam(ctx);
  const { expires, signature } = ctx.query;
  if (config.MEDIA_S3_BUCKET === undefined && isSignedRequest({ method, uuid, file, expires, signature })) return uuid;
  throw new ServiceError('not_found', 'Not found. The address is not valid, or it has expired.');
}
