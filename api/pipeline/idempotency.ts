import { executeIdempotent, type SaveResponse } from '../../shared/domain/platform/idempotentRequests.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import { IDEMPOTENCY_KEY_MAX_CHARACTERS } from '../../shared/spec/limits.ts';
import { type Context, requireCaller } from '../context.ts';
import { getForm } from './body.ts';
import { getPathParam, parseUuidParam } from './requestParameters.ts';

/** Hidden field of a form with its idempotency key. */
export const REQUEST_FIELD = 'request';
const IDEMPOTENCY_KEY_PATTERN = new RegExp(`^[\\x20-\\x7e]{1,${IDEMPOTENCY_KEY_MAX_CHARACTERS}}$`);

/**
 * Reads the `Idempotency-Key` header, under which a client can safely repeat a request. Null if it is absent.
 * @throws ServiceError validation_error
 */
export function readIdempotencyKey(ctx: Context): string | null {
  if (ctx.headers['idempotency-key'] === undefined) return null;
  const key = ctx.get('idempotency-key').trim();
  if (IDEMPOTENCY_KEY_PATTERN.test(key)) return key;
  const detail = `Idempotency-Key must have 1 to ${IDEMPOTENCY_KEY_MAX_CHARACTERS} plain ASCII characters, such as a UUID.`;
  throw new ServiceError('validation_error', detail);
}

/** Executes the request of a page's form once: a form that is sent twice gets the first response again. */
export async function executeFormOnce<Response>(
  ctx: Context,
  scope: string,
  request: unknown,
  execute: (id: string, saveResponse: SaveResponse<Response>) => Promise<Response>,
): Promise<Response> {
  const key = getForm(ctx).get(REQUEST_FIELD) ?? '';
  const keyed = { scope, request, key: /^[0-9a-f-]{36}$/.test(key) ? key : null };
  const { response } = await executeIdempotent({ ...keyed, accountId: requireCaller(ctx).accountId }, execute);
  return response;
}

/**
 * Runs a request once per idempotency key. The same key with another request is rejected.
 * @param isOfMember the same request of another member is another one.
 */
export async function executeRequestOnce(
  ctx: Context,
  { scope, isOfMember }: { scope: string; isOfMember: boolean },
  body: unknown,
  execute: (id: string, saveResponse: SaveResponse<unknown>) => Promise<unknown>,
): Promise<unknown> {
  const { accountId, member } = requireCaller(ctx);
  const sent = getPathParam(ctx, 'uuid') !== '' ? { uuid: parseUuidParam(ctx), body } : body;
  const request = isOfMember ? { member: member?.number, sent } : sent;
  const keyed = { accountId, scope, key: readIdempotencyKey(ctx), request };
  const { response, isReplay } = await executeIdempotent(keyed, execute);
  if (isReplay) ctx.set('idempotent-replayed', 'true');
  return response;
}
