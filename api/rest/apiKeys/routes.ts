import { createApiKey, listApiKeys, revokeApiKey, updateApiKey } from '../../../shared/domain/accounts/apiKeys.ts';
import type { SaveResponse } from '../../../shared/domain/platform/idempotentRequests.ts';
import { listKeyLimits } from '../../../shared/domain/spendingLimits/listSpendingLimits.ts';
import { createBodyParser } from '../../../shared/lib/validation/bodyParser.ts';
import { requireCaller, type Context } from '../../context.ts';
import { audit } from '../../pipeline/auditLog.ts';
import { getJsonBody } from '../../pipeline/body.ts';
import { withIdempotency } from '../../pipeline/idempotency.ts';
import { getRequestOrigin } from '../../pipeline/requestOrigin.ts';
import { parsePage, parseUuidParam } from '../../pipeline/requestParameters.ts';
import { presentCreatedApiKey } from './presenter.ts';
import { presentApiKey } from '../../../shared/presenters/apiKey.ts';
import { presentPage } from '../pagination.ts';
import { CreateApiKeyRequest, KEY_OPTION_NAMES, UpdateApiKeyRequest } from './schemas.ts';

const parseCreate = createBodyParser(CreateApiKeyRequest);
const parseUpdate = createBodyParser(UpdateApiKeyRequest);

/**
 * Returns whether a request creates a live key. Options do not exempt it: a limit may be as high as a billion credits.
 */
export function createsLiveKey(ctx: Context): boolean {
  return readFields(ctx)['mode'] !== 'test';
}

/** Returns whether a request names an option of a key. */
export function changesOptions(ctx: Context): boolean {
  return Object.keys(readFields(ctx)).some((name) => KEY_OPTION_NAMES.includes(name));
}

/** Reads the fields of a body that has not been validated. */
function readFields(ctx: Context): Record<string, unknown> {
  return Object(getJsonBody(ctx)) as Record<string, unknown>;
}

export async function create(ctx: Context): Promise<void> {
  const request = parseCreate(getJsonBody(ctx));
  const caller = requireCaller(ctx);
  const { accountId } = caller;
  ctx.body = await withIdempotency(ctx, 'keys.create', request, async (_id, saveResponse: SaveResponse<object>) => {
    const created = await createApiKey(caller, request, {
      origin: getRequestOrigin(ctx),
      onCreated: (transaction, key) => saveResponse(transaction, presentCreatedApiKey(key)),
    });
    await audit(ctx, 'key_created', accountId, { key: created.row.uuid });
    return presentCreatedApiKey(created);
  });
  ctx.status = 201;
}

export async function list(ctx: Context): Promise<void> {
  const page = await listApiKeys(requireCaller(ctx).accountId, parsePage(ctx));
  const limits = await listKeyLimits(page.items);
  ctx.body = presentPage(page, '/api/keys/', (key) => presentApiKey(key, limits.get(key.uuid)));
}

export async function update(ctx: Context): Promise<void> {
  const caller = requireCaller(ctx);
  const request = parseUpdate(getJsonBody(ctx));
  const key = await updateApiKey(caller, parseUuidParam(ctx), request, {
    origin: getRequestOrigin(ctx),
  });
  await audit(ctx, 'key_changed', caller.accountId, { key: key.uuid });
  ctx.body = presentApiKey(key, (await listKeyLimits([key])).get(key.uuid));
}

export async function revoke(ctx: Context): Promise<void> {
  const { accountId } = requireCaller(ctx);
  await revokeApiKey(accountId, parseUuidParam(ctx), { origin: getRequestOrigin(ctx) });
  await audit(ctx, 'key_revoked', accountId, { key: parseUuidParam(ctx) });
  ctx.body = { revoked: true };
}
