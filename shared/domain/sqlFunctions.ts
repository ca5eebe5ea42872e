import type { SqlFunction } from '../lib/database/sqlFunctions.ts';
import { LOCK_ACCOUNTS } from './credits/lockAccounts.ts';
import { LOW_CREDITS_THRESHOLD } from './credits/lowCredits.ts';
import { MONTH_PLAN, MONTH_START } from './credits/monthPlan.ts';
import { RENEW_CREDIT_PERIODS } from './credits/periods.ts';
import { CHARGE_GENERATIONS, DECIDE_CREATES } from './generations/chargeFunctions.ts';
import { CANCEL_GENERATION, COMPLETE_GENERATIONS, FAIL_GENERATIONS } from './generations/execution/completeOrFail.ts';

/** All functions that a release installs, a called one before its callers. */
export const SQL_FUNCTIONS: readonly SqlFunction[] = [
  LOCK_ACCOUNTS,
  LOW_CREDITS_THRESHOLD,
  MONTH_START,
  MONTH_PLAN,
  RENEW_CREDIT_PERIODS,
  DECIDE_CREATES,
  CHARGE_GENERATIONS,
  COMPLETE_GENERATIONS,
  FAIL_GENERATIONS,
  CANCEL_GENERATION,
];
