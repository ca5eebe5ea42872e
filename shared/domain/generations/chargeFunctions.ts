import { readSqlFunction } from '../../lib/database/sqlFunctions.ts';

export const DECIDE_CREATES = readSqlFunction(new URL('./decideCreates.sql', import.meta.url));
export const CHARGE_GENERATIONS = readSqlFunction(new URL('./chargeGenerations.sql', import.meta.url), [
  DECIDE_CREATES,
]);
