import { readSqlFunction } from '../../lib/database/sqlFunctions.ts';
import { MEMBER_RIGHTS } from '../../spec/roles.ts';
import { SPENDING_WINDOW } from '../spendingLimits/window.ts';
import { LOCK_ACCOUNTS } from '../credits/ledger.ts';

export const DECIDE_CREATES = readSqlFunction(new URL('./decideCreates.sql', import.meta.url), [SPENDING_WINDOW]);
/** Argument of both functions, as a literal: the same for every call. */
export const CREATOR_ROLES = `'{${MEMBER_RIGHTS.createGenerations.join(',')}}'`;

export const CHARGE_GENERATIONS = readSqlFunction(new URL('./chargeGenerations.sql', import.meta.url), [
  LOCK_ACCOUNTS,
  SPENDING_WINDOW,
  DECIDE_CREATES,
]);
