import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import type { ListPage } from '../../lib/pagination.ts';
import type { KeyUsage, UsageSum } from '../usage/usageByKey.ts';
import { listApiKeys } from './apiKeys.ts';

const FIND_SUMS = prepared(
  'find_key_sums',
  `SELECT key_number, credits, generations FROM usage_keys
    WHERE account_id = :accountId AND key_number = ANY (cast(:numbers AS integer[]))`,
);

/**
 * Lists the usage of all keys of an account, newest key first, including revoked ones. A test account has the usage of
 * the test keys.
 */
export async function listKeyUsage(accountId: number, page: number): Promise<ListPage<KeyUsage>> {
  const { items, ...list } = await listApiKeys(accountId, page);
  const numbers = items.map(({ number }) => number);
  const rows = await runStatement<UsageSum & { key_number: number }>(FIND_SUMS, { accountId, numbers });
  const sums = new Map(rows.map((row) => [row.key_number, row]));
  const usage = items.map(({ uuid, name, prefix, revoked_at, number }) => {
    const { credits = 0, generations = 0 } = sums.get(number) ?? {};
    return { uuid, name, prefix, revoked_at, credits, generations };
  });
  return { ...list, items: usage };
}
