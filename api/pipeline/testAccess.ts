import { ServiceError } from '../../shared/spec/errors.ts';
import type { Context } from '../context.ts';
import { isSafeMethod } from './csrf.ts';
import type { Route } from './route.ts';

/**
 * Requires a live credential for changes of billing, API keys, notifications and the affiliate program: a test account
 * has none of them.
 * @throws ServiceError insufficient_scope for a test key.
 */
export function requireTestAccess(ctx: Context, { testKeysWrite }: Route): void {
  if (ctx.state.caller?.isTest !== true || isSafeMethod(ctx.method) || testKeysWrite === true) return;
  throw new ServiceError(
    'insufficient_scope',
    'A test key cannot change this: it has no billing, and API keys belong to the live account. Use a live API key, or the account pages.',
  );
}
