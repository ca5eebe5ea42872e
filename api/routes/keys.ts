import { createApiKey, listApiKeys, revokeApiKey } from '../../shared/domain/apiKeys.ts';
import type { Remember } from '../../shared/domain/idempotentRequests.ts';
import { bodyParser } from '../../shared/lib/validate.ts';
import { callerOf, type Context } from '../context.ts';
import { audit } from '../middleware/audit.ts';
import { forgetKey } from '../middleware/authenticate.ts';
import { bodyOf } from '../middleware/body.ts';
import { idempotently } from '../middleware/idempotencyKey.ts';
import { pageOf, uuidOf } from '../middleware/query.ts';
import { presentApiKey, presentCreatedApiKey, presentPage } from '../presenters.ts';
import { CreateApiKey } from '../schemas.ts';

const parseCreate = bodyParser(CreateApiKey);

export async function create(ctx: Context): Promise<void> {
  const request = parseCreate(bodyOf(ctx));
  const { accountId } = callerOf(ctx);
  ctx.body = await idempotently(ctx, 'keys.create', request, async (_id, remember: Remember<object>) => {
    const created = await createApiKey(accountId, request.name, (transaction, key) =>
      remember(transaction, presentCreatedApiKey(key)),
    );
    await audit(ctx, 'key_created', accountId, { key: created.row.uuid });
    return presentCreatedApiKey(created);
  });
  ctx.status = 201;
}

export async function list(ctx: Context): Promise<void> {
  const page = await listApiKeys(callerOf(ctx).accountId, pageOf(ctx));
  ctx.body = presentPage(page, '/api/keys/', presentApiKey);
}

export async function revoke(ctx: Context): Promise<void> {
  const { accountId } = callerOf(ctx);
  forgetKey(await revokeApiKey(accountId, uuidOf(ctx)));
  await audit(ctx, 'key_revoked', accountId, { key: uuidOf(ctx) });
  ctx.body = { revoked: true };
}
