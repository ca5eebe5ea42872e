import { now } from '../../lib/clock.ts';
import { ApiKey } from '../../tables/ApiKey.ts';
import { revokeApiKey } from './apiKeys.ts';

/** Number of keys that one run revokes. The next run continues. */
const BATCH_SIZE = 500;

/**
 * Revokes API keys that have expired, so that they no longer count toward the maximum of their account. Requests reject
 * them from their expiry on.
 */
export async function revokeExpiredApiKeys(): Promise<void> {
  const keys = await ApiKey.query()
    .whereNull('revoked_at')
    .where('expires_at', '<=', now())
    .orderBy('expires_at')
    .limit(BATCH_SIZE)
    .select('account_id', 'uuid');
  for (const { account_id: accountId, uuid } of keys) await revokeApiKey(accountId, uuid);
}
