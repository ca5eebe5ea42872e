import type { Knex } from 'knex';
import { now } from '../../lib/clock.ts';
import { db } from '../../lib/database/pool.ts';
import type { CreditLimit, SpendingLimitState } from '../../presenters/spendingLimit.ts';
import type { ApiKey } from '../../tables/ApiKey.ts';
import { SpendingLimit } from '../../tables/SpendingLimit.ts';
import { getResetTime, getWindowStart } from './window.ts';

/**
 * Limits by the uuid of the key, or the client id of the application; null for one that was removed, nothing for one
 * that was never set.
 */
export type SpendingLimits = ReadonlyMap<string, SpendingLimitState | null>;

/** Lists the limits of API keys. */
export async function listKeyLimits(keys: readonly ApiKey[], connection: Knex = db): Promise<SpendingLimits> {
  if (keys.length === 0) return new Map();
  const uuids = new Map(keys.map((key) => [`${key.account_id}:${key.number}`, key.uuid]));
  const rows = await SpendingLimit.query(connection)
    .whereIn('account_id', [...new Set(keys.map((key) => key.account_id))])
    .whereIn('key_number', [...new Set(keys.map((key) => key.number))]);
  return new Map(
    rows.flatMap((row) => {
      const uuid = uuids.get(`${row.account_id}:${row.key_number}`);
      return uuid === undefined ? [] : [[uuid, toSpendingLimitState(row)] as const];
    }),
  );
}

/** Lists the limits of all applications of an account, by the id of the client. */
export async function listApplicationLimits(accountId: number, connection: Knex = db): Promise<SpendingLimits> {
  const rows = await SpendingLimit.query(connection).where({ account_id: accountId }).whereNotNull('client_id');
  return new Map(rows.map((row) => [row.client_id as string, toSpendingLimitState(row)]));
}

/** Lists the limits of all members of an account, by their number. */
export async function listMemberLimits(
  accountId: number,
  connection: Knex = db,
): Promise<ReadonlyMap<number, SpendingLimitState | null>> {
  const rows = await SpendingLimit.query(connection).where({ account_id: accountId }).whereNotNull('member_number');
  return new Map(rows.map((row) => [row.member_number as number, toSpendingLimitState(row)]));
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
