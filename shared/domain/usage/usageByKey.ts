import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { PAGE_SIZE } from '../../spec/limits.ts';
import type { ApiKey } from '../../tables/ApiKey.ts';

/** Credits, less refunds, and generations. */
export interface UsageSum {
  credits: number;
  generations: number;
}

/** Usage of an API key since it was created. */
export type KeyUsage = UsageSum & Pick<ApiKey, 'uuid' | 'name' | 'prefix' | 'revoked_at'>;

/** Usage of an account by key: those that used most, the sum of its other keys, and of what no key created. */
export interface KeyUsageOverview {
  keys: KeyUsage[];
  otherKeys: UsageSum;
  withoutKey: UsageSum;
}

/** One statement, so that the parts add up to the total of the account. */
const FIND_KEY_USAGE_OVERVIEW = prepared(
  'find_key_usage_overview',
  `WITH used AS MATERIALIZED (
     SELECT key_number, credits, generations, row_number() OVER (ORDER BY credits DESC, key_number DESC) AS rank
       FROM usage_keys WHERE account_id = :accountId
   ), keys AS (
     SELECT coalesce(sum(credits), 0) AS credits, coalesce(sum(generations), 0) AS generations,
            coalesce(sum(credits) FILTER (WHERE rank > :limit), 0) AS other_credits,
            coalesce(sum(generations) FILTER (WHERE rank > :limit), 0) AS other_generations
       FROM used
   ), total AS (
     SELECT coalesce(sum(credits), 0) AS credits, coalesce(sum(generations), 0) AS generations
       FROM usage_totals WHERE account_id = :accountId
   )
   SELECT k.uuid, k.name, k.prefix, k.revoked_at, used.credits, used.generations,
          cast(keys.other_credits AS bigint) AS other_credits,
          cast(keys.other_generations AS bigint) AS other_generations,
          cast(total.credits - keys.credits AS bigint) AS credits_without_key,
          cast(total.generations - keys.generations AS bigint) AS generations_without_key
     FROM keys CROSS JOIN total
     LEFT JOIN (used JOIN api_keys k ON k.account_id = :accountId AND k.number = used.key_number) ON used.rank <= :limit
    ORDER BY used.rank`,
);

interface OverviewRow extends KeyUsage {
  other_credits: number;
  other_generations: number;
  credits_without_key: number;
  generations_without_key: number;
}

/** Reads the usage of an account by key, for a page. It names the 20 keys that used most. */
export async function getKeyUsageOverview(accountId: number): Promise<KeyUsageOverview> {
  const rows = await runStatement<OverviewRow>(FIND_KEY_USAGE_OVERVIEW, { accountId, limit: PAGE_SIZE });
  const [sums] = rows as [OverviewRow];
  return {
    // Without any key, one row has the sums alone.
    keys: rows.filter(({ uuid }) => uuid !== null),
    otherKeys: { credits: sums.other_credits, generations: sums.other_generations },
    withoutKey: { credits: sums.credits_without_key, generations: sums.generations_without_key },
  };
}
