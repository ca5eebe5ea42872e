import { readSqlFunction } from '../../lib/database/sqlFunctions.ts';

/** Start of a month of a subscription: `(started_at, month)`. */
export const MONTH_START = readSqlFunction(new URL('./monthStart.sql', import.meta.url));

/** Plan whose credits a month of a subscription grants: `(subscription_id, started_at, month)`. */
export const MONTH_PLAN = readSqlFunction(new URL('./monthPlan.sql', import.meta.url), [MONTH_START]);
