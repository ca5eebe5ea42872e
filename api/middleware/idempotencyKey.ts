import { once, type Remember } from '../../shared/domain/idempotentRequests.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import { IDEMPOTENCY_KEY_MAX_CHARACTERS } from '../../shared/spec/limits.ts';
import { callerOf, type Context } from '../context.ts';

const KEY = new RegExp(`^[\\x20-\\x7e]{1,${IDEMPOTENCY_KEY_MAX_CHARACTERS}}$`);

/**
 * What the client calls this request, so that it may send it again without having it done again; null where it has no
 * name for it.
 * @throws ServiceError validation_error
 */
export function idempotencyKeyOf(ctx: Context): string | null {
  if (ctx.headers['idempotency-key'] === undefined) return null;
  const key = ctx.get('idempotency-key').trim();
  if (KEY.test(key)) return key;
  const detail = `Idempotency-Key must have 1 to ${IDEMPOTENCY_KEY_MAX_CHARACTERS} plain ASCII characters, such as a UUID.`;
  throw new ServiceError('validation_error', detail);
}

/**
 * Carries a request out once for each key that comes with it, and gives its answer again where it is repeated.
 * @param request what was asked for, once it has been read.
 */
export async function idempotently<Answer>(
  ctx: Context,
  scope: string,
  request: unknown,
  work: (id: string, remember: Remember<Answer>) => Promise<Answer>,
): Promise<Answer> {
  const repeatable = { accountId: callerOf(ctx).accountId, scope, key: idempotencyKeyOf(ctx), request };
  const { answer, isReplay } = await once(repeatable, work);
  if (isReplay) ctx.set('idempotent-replayed', 'true');
  return answer;
}
