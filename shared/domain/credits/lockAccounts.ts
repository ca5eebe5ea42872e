import { readSqlFunction } from '../../lib/database/sqlFunctions.ts';

/** Called by the functions that change many accounts. */
export const LOCK_ACCOUNTS = readSqlFunction(new URL('./lockAccounts.sql', import.meta.url));
