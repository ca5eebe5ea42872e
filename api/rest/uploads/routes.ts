import { createUpload, readUpload } from '../../../shared/domain/uploads/createUpload.ts';
import { createBodyParser } from '../../../shared/lib/validation/bodyParser.ts';
import { presentUpload } from '../../../shared/presenters/upload.ts';
import { requireCaller, type Context } from '../../context.ts';
import { getJsonBody } from '../../pipeline/body.ts';
import { parseUuidParam } from '../../pipeline/requestParameters.ts';
import { CreateUploadRequest } from './schemas.ts';

const parseCreate = createBodyParser(CreateUploadRequest);

export async function create(ctx: Context): Promise<void> {
  const { content_type: contentType, bytes } = parseCreate(getJsonBody(ctx));
  const { upload, target, expiresAt } = await createUpload(requireCaller(ctx).accountId, { contentType, bytes });
  ctx.status = 201;
  ctx.body = { uuid: upload.uuid, upload_url: target.url, headers: target.headers, expires_at: expiresAt };
}

export async function read(ctx: Context): Promise<void> {
  ctx.body = presentUpload(await readUpload(requireCaller(ctx).accountId, parseUuidParam(ctx)));
}
