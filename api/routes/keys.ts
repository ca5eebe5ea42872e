import { createApiKey, listApiKeys, revokeApiKey } from '../../shared/domain/apiKeys.ts';
import { bodyParser } from '../../shared/lib/validate.ts';
import { callerOf, type Context } from '../context.ts';
import { bodyOf } from '../middleware/body.ts';
import { pageOf, uuidOf } from '../middleware/query.ts';
import { presentApiKey, presentCreatedApiKey, presentPage } from '../presenters.ts';
import { CreateApiKey } from '../schemas.ts';

const parseCreate = bodyParser(CreateApiKey);

export async function create(ctx: Context): Promise<void> {
  const { name } = parseCreate(bodyOf(ctx));
  ctx.body = presentCreatedApiKey(await createApiKey(callerOf(ctx).accountId, name));
  ctx.status = 201;
}

export async function list(ctx: Context): Promise<void> {
  const page = await listApiKeys(callerOf(ctx).accountId, pageOf(ctx));
  ctx.body = presentPage(page, '/api/keys/', presentApiKey);
}

export async function revoke(ctx: Context): Promise<void> {
  await revokeApiKey(callerOf(ctx).accountId, uuidOf(ctx));
  ctx.body = { revoked: true };
}
