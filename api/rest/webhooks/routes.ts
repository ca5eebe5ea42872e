import { requireTestAccount } from '../../../shared/domain/accounts/testAccounts.ts';
import type { SaveResponse } from '../../../shared/domain/platform/idempotentRequests.ts';
import { getDefaultSecret, rotateDefaultSecret } from '../../../shared/domain/webhooks/defaultEndpoint.ts';
import { listDeliveries, redeliver } from '../../../shared/domain/webhooks/deliveries.ts';
import {
  createEndpoint,
  deleteEndpoint,
  getEndpoint,
  listEndpoints,
  rotateSecret,
  sendTestEvent,
  updateEndpoint,
} from '../../../shared/domain/webhooks/endpoints.ts';
import { createBodyParser } from '../../../shared/lib/validation/bodyParser.ts';
import { presentWebhookEndpoint } from '../../../shared/presenters/webhookEndpoint.ts';
import { requireCaller, type Context } from '../../context.ts';
import { audit } from '../../pipeline/auditLog.ts';
import { getJsonBody } from '../../pipeline/body.ts';
import { withIdempotency } from '../../pipeline/idempotency.ts';
import { buildDeliveryQuery, parseDeliveryFilter } from '../../pipeline/listFilters.ts';
import { getRequestOrigin } from '../../pipeline/requestOrigin.ts';
import { parseMode, parsePage, parseUuidParam } from '../../pipeline/requestParameters.ts';
import { presentPage } from '../pagination.ts';
import { presentDefaultSecret, presentDelivery, presentEndpointWithSecret } from './presenter.ts';
import { CreateWebhookRequest, UpdateWebhookRequest } from './schemas.ts';

const parseCreate = createBodyParser(CreateWebhookRequest);
const parseUpdate = createBodyParser(UpdateWebhookRequest);

export async function create(ctx: Context): Promise<void> {
  const { url, events, description } = parseCreate(getJsonBody(ctx));
  // In a fixed order, because an idempotency key compares requests as JSON.
  const request = { url, events, description };
  const caller = requireCaller(ctx);
  const { accountId } = caller;
  ctx.body = await withIdempotency(ctx, 'webhooks.create', request, async (_id, saveResponse: SaveResponse<object>) => {
    const created = await createEndpoint(caller, request, {
      origin: getRequestOrigin(ctx),
      onDone: (transaction, result) => saveResponse(transaction, presentEndpointWithSecret(result)),
    });
    await audit(ctx, 'webhook_created', accountId, { webhook: created.endpoint.uuid });
    return presentEndpointWithSecret(created);
  });
  ctx.status = 201;
}

export async function list(ctx: Context): Promise<void> {
  const page = await listEndpoints(requireCaller(ctx).accountId, parsePage(ctx));
  ctx.body = presentPage(page, '/api/webhooks/', presentWebhookEndpoint);
}

export async function read(ctx: Context): Promise<void> {
  ctx.body = presentWebhookEndpoint(await getEndpoint(requireCaller(ctx).accountId, parseUuidParam(ctx)));
}

export async function update(ctx: Context): Promise<void> {
  const changes = parseUpdate(getJsonBody(ctx));
  const caller = requireCaller(ctx);
  const options = { origin: getRequestOrigin(ctx) };
  const endpoint = await updateEndpoint(caller, parseUuidParam(ctx), changes, options);
  ctx.body = presentWebhookEndpoint(endpoint);
}

export async function remove(ctx: Context): Promise<void> {
  const caller = requireCaller(ctx);
  const { accountId } = caller;
  const webhook = parseUuidParam(ctx);
  await deleteEndpoint(caller, webhook, { origin: getRequestOrigin(ctx) });
  await audit(ctx, 'webhook_deleted', accountId, { webhook });
  ctx.status = 204;
}

/** Accepts an idempotency key: a rotation that is repeated after a lost response would end the keys that are in use. */
export async function rotate(ctx: Context): Promise<void> {
  const caller = requireCaller(ctx);
  const { accountId } = caller;
  const webhook = parseUuidParam(ctx);
  const work = async (_id: string, saveResponse: SaveResponse<object>) => {
    const rotated = await rotateSecret(caller, webhook, {
      origin: getRequestOrigin(ctx),
      onDone: (transaction, result) => saveResponse(transaction, presentEndpointWithSecret(result)),
    });
    await audit(ctx, 'webhook_secret_rotated', accountId, { webhook });
    return presentEndpointWithSecret(rotated);
  };
  ctx.body = await withIdempotency(ctx, 'webhooks.rotateSecret', { webhook }, work);
}

export async function test(ctx: Context): Promise<void> {
  ctx.body = presentDelivery(await sendTestEvent(requireCaller(ctx), parseUuidParam(ctx)));
}

export async function deliveries(ctx: Context): Promise<void> {
  const filter = parseDeliveryFilter(ctx.query);
  const webhook = parseUuidParam(ctx);
  const page = await listDeliveries(requireCaller(ctx).accountId, webhook, parsePage(ctx), filter);
  ctx.body = presentPage(page, `/api/webhooks/${webhook}/deliveries/`, presentDelivery, buildDeliveryQuery(ctx.query));
}

export async function redeliverOne(ctx: Context): Promise<void> {
  const { accountId } = requireCaller(ctx);
  ctx.body = presentDelivery(await redeliver(accountId, parseUuidParam(ctx), parseUuidParam(ctx, 'delivery')));
}

export async function readDefaultSecret(ctx: Context): Promise<void> {
  ctx.body = presentDefaultSecret(await getDefaultSecret(await findSecretOwner(ctx)));
}

/** Returns the account whose default secret a request is about: with `?mode=test`, the test account. */
async function findSecretOwner(ctx: Context): Promise<number> {
  const { accountId } = requireCaller(ctx);
  return parseMode(ctx) === 'test' ? requireTestAccount(accountId) : accountId;
}

export async function rotateDefault(ctx: Context): Promise<void> {
  const accountId = await findSecretOwner(ctx);
  const rotated = await rotateDefaultSecret(requireCaller(ctx), accountId, getRequestOrigin(ctx));
  await audit(ctx, 'webhook_secret_rotated', accountId, { webhook: rotated.uuid });
  ctx.body = presentDefaultSecret(rotated);
}
