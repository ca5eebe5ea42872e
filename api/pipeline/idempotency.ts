import { executeIdempotent, type SaveResponse } from '../../shared/domain/platform/idempotentRequests.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import { IDEMPOTENCY_KEY_MAX_CHARACTERS } from '../../shared/spec/limits.ts';
import { requireCaller, type Context } from '../context.ts';
import { getForm } from './body.ts';

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

/**
 * Runs a request once per idempotency key. A repeated request gets the first response again.
 * @param request the parsed request. The same key with another request is rejected.
 */
export async function withIdempotency<Answer>(
  ctx: Context,
  scope: string,
  request: unknown,
  work: (id: string, saveResponse: SaveResponse<Answer>) => Promise<Answer>,
): Promise<Answer> {
  const idempotentRequest = { accountId: requireCaller(ctx).accountId, scope, key: readIdempotencyKey(ctx), request };
  const { response, isReplay } = await executeIdempotent(idempotentRequest, work);
  if (isReplay) ctx.set('idempotent-replayed', 'true');
  return response;
}

/** Reads the idempotency key of a page's form, or null. */
export function readFormIdempotencyKey(ctx: Context): string | null {
  const key = getForm(ctx).get('request') ?? '';
  return /^[0-9a-f-]{36}$/.test(key) ? key : null;
}
