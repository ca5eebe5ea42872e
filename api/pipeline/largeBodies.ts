import { perService } from '../../shared/lib/serviceScope.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import { BODY_LIMIT_BYTES, LARGE_BODIES_MAX, LARGE_BODIES_OF_ACCOUNT_MAX } from '../../shared/spec/limits.ts';
import type { Context } from '../context.ts';

/** Requests whose body may be large, with their accounts. */
const heldBodies = perService(() => new Map<Context, number | undefined>());

/**
 * Counts a request whose body may contain images, until {@link releaseLargeBody}: its body stays in memory until the
 * images are decoded, and many at a time would exhaust the memory of the process.
 * @throws ServiceError rate_limited if the process, or the account, has too many of them.
 */
export function holdLargeBody(ctx: Context): void {
  const { length } = ctx.request;
  if (length !== undefined && length <= BODY_LIMIT_BYTES) return;
  const held = heldBodies();
  const accountId = ctx.state.caller?.accountId;
  const ofAccount = [...held.values()].filter((other) => other === accountId).length;
  if (held.size >= LARGE_BODIES_MAX || ofAccount >= LARGE_BODIES_OF_ACCOUNT_MAX) {
    const detail = `Too many requests with images in their body at a time: at most ${LARGE_BODIES_OF_ACCOUNT_MAX} of an account. Wait for the others, or upload the images instead.`;
    throw new ServiceError('rate_limited', detail, { retryAfterSeconds: 2 });
  }
  held.set(ctx, accountId);
}

/** Ends the count of a request. */
export function releaseLargeBody(ctx: Context): void {
  heldBodies().delete(ctx);
}
