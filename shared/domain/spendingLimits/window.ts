import { readSqlFunction } from '../../lib/database/sqlFunctions.ts';
import type { SpendingPeriod } from '../../spec/states.ts';

/** Returns the start of the UTC day or month of a moment; null for the period `total`, whose window never ends. */
export function getWindowStart(period: SpendingPeriod, at: Date): Date | null {
  if (period === 'total') return null;
  return new Date(Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), period === 'day' ? at.getUTCDate() : 1));
}

/** The same in SQL, for a charge. */
export const SPENDING_WINDOW = readSqlFunction(new URL('./spendingWindow.sql', import.meta.url));

/** Returns the start of the next window; null for the period `total`. */
export function getResetTime(period: SpendingPeriod, at: Date): Date | null {
  if (period === 'total') return null;
  const [year, month] = [at.getUTCFullYear(), at.getUTCMonth()];
  return new Date(period === 'day' ? Date.UTC(year, month, at.getUTCDate() + 1) : Date.UTC(year, month + 1));
}
