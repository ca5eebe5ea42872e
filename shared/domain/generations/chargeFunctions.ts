import { readSqlFunction } from '../../lib/database/sqlFunctions.ts';
import { LOW_CREDITS_THRESHOLD } from '../credits/lowCredits.ts';
import { LOCK_ACCOUNTS } from '../credits/ledger.ts';

export const DECIDE_CREATES = readSqlFunction(new URL('./decideCreates.sql', import.meta.url), [LOW_CREDITS_THRESHOLD]);
export const CHARGE_GENERATIONS = readSqlFunction(new URL('./chargeGenerations.sql', import.meta.url), [
  LOCK_ACCOUNTS,
  DECIDE_CREATES,
]);
