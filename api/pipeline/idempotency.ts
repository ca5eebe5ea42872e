import { executeIdempotent, type SaveResponse } from '../../shared/domain/platform/idempotentRequests.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import { IDEMPOTENCY_KEY_MAX_CHARACTERS } from '../../shared/spec/limits.ts';
import { requireCaller, type Context } from '../context.ts';

const IDEMPOTENCY_KEY_PATTERN = new RegExp(`^[\\x20-\\x7e]{1,${IDEMPOTENCY_KEY_MAX_CHARACTERS}}$`);

/**
 * What the client calls this request, so that it may send it again without having it done again; null where it has no
 * name for it.
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
 * Carries a request out once for each key that comes with it, and gives its answer again where it is repeated.
 * @param request what was asked for, once it has been read.
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
