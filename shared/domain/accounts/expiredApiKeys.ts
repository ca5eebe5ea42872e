import { now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import { ApiKey } from '../../tables/ApiKey.ts';
import { revokeApiKey } from './apiKeys.ts';

/** Number of keys that one run revokes. The next run continues. */
const BATCH_SIZE = 500;

/**
 * Revokes API keys that have expired, so that they no longer count toward the maximum of their account. Requests reject
 * them from their expiry on. A key whose expiry is moved meanwhile stays active.
 * @throws Error of the first key that could not be revoked, after the others were.
 */
export async function revokeExpiredApiKeys(): Promise<void> {
  const expiredBy = now();
  const keys = await ApiKey.query()
    .whereNull('revoked_at')
    .where('expires_at', '<=', expiredBy)
    .orderBy('expires_at')
    .limit(BATCH_SIZE)
    .select('account_id', 'uuid');
  const errors: unknown[] = [];
  for (const { account_id: accountId, uuid } of keys) {
    try {
      await revokeApiKey(accountId, uuid, { expiredBy });
    } catch (err) {
      logger.warn({ err, accountId, key: uuid }, 'expired API key not revoked; next run will retry');
      errors.push(err);
    }
  }
  if (errors.length > 0) throw errors[0];
}
