import type { Knex } from 'knex';
import { now } from '../../lib/clock.ts';
import { db } from '../../lib/database/pool.ts';
import type { CreditLimit, SpendingLimitState } from '../../presenters/spendingLimit.ts';
import { SpendingLimit } from '../../tables/SpendingLimit.ts';
import { getResetTime, getWindowStart } from './window.ts';

/** Limits by credential; null for one that was removed, nothing for one that was never set. */
export type SpendingLimits<Credential> = ReadonlyMap<Credential, SpendingLimitState | null>;

/** Lists the limits of API keys, by the number of the key. */
export async function listKeyLimits(
  accountId: number,
  keyNumbers: readonly number[],
  connection: Knex = db,
): Promise<SpendingLimits<number>> {
  const rows = await SpendingLimit.query(connection)
    .where({ account_id: accountId })
    .whereIn('key_number', [...keyNumbers]);
  return new Map(rows.map((row) => [row.key_number as number, toSpendingLimitState(row)]));
}

/** Lists the limits of all applications of an account, by the id of the client. */
export async function listApplicationLimits(accountId: number, connection: Knex = db): Promise<SpendingLimits<string>> {
  const rows = await SpendingLimit.query(connection).where({ account_id: accountId }).whereNotNull('client_id');
  return new Map(rows.map((row) => [row.client_id as string, toSpendingLimitState(row)]));
}

/** Returns the state of a limit now; null if it was removed. A stored window that is over counts as unused. */
export function toSpendingLimitState({
  credits,
  period,
  used,
  window_start: windowStart,
}: Pick<SpendingLimit, 'credits' | 'period' | 'used' | 'window_start'>): SpendingLimitState | null {
  if (credits === null) return null;
  const at = now();
  const current = getWindowStart(period, at);
  const isOver = windowStart !== null && current !== null && windowStart < current;
  return { credits, period, used: isOver ? 0 : used, resetsAt: getResetTime(period, at) };
}

/** Returns the state of a limit of which nothing is used yet. */
export function buildUnusedLimit({ credits, period }: CreditLimit): SpendingLimitState {
  return { credits, period, used: 0, resetsAt: getResetTime(period, now()) };
}
