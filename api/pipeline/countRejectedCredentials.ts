import { ServiceError } from '../../shared/spec/errors.ts';
import type { Context } from '../context.ts';
import { ChallengeError } from './httpError.ts';
import { consumeRateLimit } from './rateLimit.ts';

/**
 * Counts failed attempts to authenticate against the address that they come from.
 * @throws ServiceError rate_limited in place of the error, above the limit of the address.
 */
export async function countRejections<Result>(ctx: Context, authenticated: Promise<Result>): Promise<Result> {
  try {
    return await authenticated;
  } catch (error) {
    if (error instanceof ServiceError && error.code !== 'rate_limited') await countRejection(ctx, error);
    throw error;
  }
}

/**
 * Counts a rejected credential. A challenge is sent however many requests of others behind the address have failed.
 * @throws ServiceError rate_limited
 */
export async function countRejection(ctx: Context, error: ServiceError): Promise<void> {
  await consumeRateLimit(ctx, 'public').catch((exceeded: unknown) => {
    if (!(error instanceof ChallengeError)) throw exceeded;
  });
}
