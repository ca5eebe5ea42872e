import { receiveCallback } from '../../../shared/domain/generations/execution/callbacks.ts';
import { ServiceError } from '../../../shared/spec/errors.ts';
import type { Context } from '../../context.ts';
import { readRawBody } from '../../pipeline/body.ts';
import { consumeRateLimit } from '../../pipeline/rateLimit.ts';

/**
 * Receives the call-back of an upstream. Rejected requests count against the address that sent them, and are
 * answered with 429 above its limit. Verified ones are accepted also from there, because providers share addresses with
 * strangers. The check of a token is one decryption; only a token of this service leads to more work.
 */
export async function receiveUpstreamCallback(ctx: Context): Promise<void> {
  const { token } = (ctx as unknown as { params: { token: string } }).params;
  try {
    await receiveCallback({ token, headers: ctx.headers, readBody: () => readRawBody(ctx) });
  } catch (error) {
    if (error instanceof ServiceError && !error.isServiceFault) await consumeRateLimit(ctx, 'public');
    throw error;
  }
  ctx.status = 204;
}
