import { readSqlFunction } from '../../lib/database/sqlFunctions.ts';
import { SPENDING_WINDOW } from '../spendingLimits/window.ts';
import { LOW_CREDITS_THRESHOLD } from '../credits/lowCredits.ts';
import { LOCK_ACCOUNTS } from '../credits/ledger.ts';

export const DECIDE_CREATES = readSqlFunction(new URL('./decideCreates.sql', import.meta.url), [
  LOW_CREDITS_THRESHOLD,
  SPENDING_WINDOW,
]);
export const CHARGE_GENERATIONS = readSqlFunction(new URL('./chargeGenerations.sql', import.meta.url), [
  LOCK_ACCOUNTS,
  SPENDING_WINDOW,
  DECIDE_CREATES,
]);
