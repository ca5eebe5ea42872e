import { readSqlFunction } from '../../lib/database/sqlFunctions.ts';
import { LOW_CREDITS_DIVISOR } from '../../spec/limits.ts';
import type { Account } from '../../tables/Account.ts';

/** Returns the balance below which `credits.low` is recorded. */
export function getLowCreditsThreshold({
  credits_low_threshold: threshold,
  period_granted: granted,
}: Pick<Account, 'credits_low_threshold' | 'period_granted'>): number {
  return threshold ?? Math.floor(granted / LOW_CREDITS_DIVISOR);
}

/** The same in SQL. */
export const LOW_CREDITS_THRESHOLD = readSqlFunction(new URL('./lowCreditsThreshold.sql', import.meta.url));
