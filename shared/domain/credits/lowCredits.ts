import { LOW_CREDITS_DIVISOR } from '../../spec/limits.ts';
import type { Account } from '../../tables/Account.ts';

/** Returns the balance below which `credits.low` is recorded. */
export function getLowCreditsThreshold({
  credits_low_threshold: threshold,
  period_granted: granted,
}: Pick<Account, 'credits_low_threshold' | 'period_granted'>): number {
  return threshold ?? Math.floor(granted / LOW_CREDITS_DIVISOR);
}

/** The same in SQL, from expressions for the two columns. Divides integers, which cannot overflow. */
export function buildLowCreditsThreshold(threshold: string, granted: string): string {
  return `coalesce(${threshold}, ${granted} / ${LOW_CREDITS_DIVISOR})`;
}
