import { receiveCallback } from '../../../shared/domain/generations/execution/callbacks.ts';
import { ServiceError } from '../../../shared/spec/errors.ts';
import type { Context } from '../../context.ts';
import { readRawBody } from '../../pipeline/body.ts';
import { consumeRateLimit, requireAddressWithinRateLimit } from '../../pipeline/rateLimit.ts';

/**
 * Receives the call-back of an upstream. Rejected requests count against the address that sent them; verified ones are
 * not limited, and have at most one poll in 2 seconds as their effect.
 */
export async function receiveUpstreamCallback(ctx: Context): Promise<void> {
  await requireAddressWithinRateLimit(ctx);
  const { token } = (ctx as unknown as { params: { token: string } }).params;
  try {
    await receiveCallback({ token, headers: ctx.headers, readBody: () => readRawBody(ctx) });
  } catch (error) {
    if (error instanceof ServiceError && !error.isServiceFault) await consumeRateLimit(ctx, 'public');
    throw error;
  }
  ctx.status = 204;
}
