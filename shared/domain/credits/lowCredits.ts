import { LOW_CREDITS_DIVISOR } from '../../spec/limits.ts';
import type { Account } from '../../tables/Account.ts';

/** Returns the balance below which `credits.low` is recorded, as does `low_credits_threshold` in SQL. */
export function getLowCreditsThreshold({
  credits_low_threshold: threshold,
  period_granted: granted,
}: Pick<Account, 'credits_low_threshold' | 'period_granted'>): number {
  return threshold ?? Math.floor(granted / LOW_CREDITS_DIVISOR);
}
