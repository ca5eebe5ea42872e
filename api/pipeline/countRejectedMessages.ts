import { ServiceError } from '../../shared/spec/errors.ts';
import type { Context } from '../context.ts';
import { consumeRateLimit } from './rateLimit.ts';

/**
 * Runs a handler that verifies a message of a provider. Rejected messages count against the address that sent them, and
 * are answered with 429 above its limit. Verified ones are accepted also from there, because providers share addresses
 * with strangers.
 */
export async function countRejectedMessages(ctx: Context, handle: () => Promise<void>): Promise<void> {
  try {
    await handle();
  } catch (error) {
    if (error instanceof ServiceError && !error.isServiceFault) await consumeRateLimit(ctx, 'public');
    throw error;
  }
}
