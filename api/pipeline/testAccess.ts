import type { Caller } from '../../shared/domain/accounts/accounts.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import { isSafeMethod } from './csrf.ts';

/** Paths below which a test key can change data. Everywhere else it can only read. */
const WRITABLE_PATHS = ['/api/generations/', '/api/uploads/', '/api/webhooks/', '/mcp'] as const;

/**
 * Requires a live credential for changes of billing, API keys, notifications and the affiliate program: a test account has
 * none of them.
 * @throws ServiceError insufficient_scope for a test key.
 */
export function requireTestAccess(caller: Caller | undefined, method: string, path: string): void {
  if (caller?.isTest !== true || isSafeMethod(method)) return;
  if (WRITABLE_PATHS.some((writable) => path.startsWith(writable))) return;
  throw new ServiceError(
    'insufficient_scope',
    'A test key cannot change this: it has no billing, and API keys belong to the live account. Use a live API key, or the account pages.',
  );
}
