import { getModelInfo } from '../../lib/catalog/knownModels.ts';
import { ensureModelsKnown } from '../catalog/knownModels.ts';
import { createBatcher } from '../../lib/batcher.ts';
import { formatUtcDay, listLastUtcDays } from '../../lib/calendar.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { isRejection } from '../../lib/database/errors.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { DB_WAIT_TIMEOUT } from '../../lib/database/waitTimeout.ts';
import { perService } from '../../lib/serviceScope.ts';
import { USAGE_HISTORY_DAYS } from '../../spec/limits.ts';
import type { Plan } from '../../spec/plans.ts';
import { Account } from '../../tables/Account.ts';
import { getActivePlan } from '../credits/entitlement.ts';
import { DAY_MS } from '../../spec/durations.ts';

export interface DailyUsage {
  /** YYYY-MM-DD, UTC. */
  date: string;
  credits: number;
  generations: number;
}

export interface ModelUsage {
  /** Display name. */
  model: string;
  credits: number;
  generations: number;
}

export interface UsageSummary {
  account: Account;
  /** The plan of the active subscription; null without one. */
  plan: Plan | null;
  /** Generations that the account may have in progress. A test account has no plan. */
  parallelLimit: number;
  /** The last 30 UTC days, today last, including days without usage. */
  history: DailyUsage[];
  /** Totals since the account was created. */
  byModel: ModelUsage[];
}

/** Reads account, days and totals for one batch of accounts. */
const FIND_USAGE = prepared(
  'find_usage',
  `SELECT a.id, a.plan_slug, a.spendable_until, a.deletion_requested_at, a.balance, a.plan_credits, a.topup_credits, a.period_used, a.period_granted, a.period_rollover,
          a.period_start, a.period_end, a.in_flight, a.parallel_limit, a.live_account_id,
          (SELECT json_agg(json_build_array(day, credits, generations))
             FROM (SELECT to_char(day, 'YYYY-MM-DD') AS day, sum(credits) AS credits, sum(generations) AS generations
                     FROM usage_days WHERE account_id = a.id AND day > cast(:before AS date) GROUP BY usage_days.day) d
          ) AS days,
          (SELECT json_agg(json_build_array(model, credits, generations) ORDER BY model)
             FROM usage_totals WHERE account_id = a.id) AS totals
     FROM accounts a
    WHERE a.id = ANY (cast(:accountIds AS bigint[]))`,
);

/** A day or a model, then its credits and generations. */
type UsageSum = [string, number, number];
type UsageRow = Account & { days: UsageSum[] | null; totals: UsageSum[] | null };

const findUsage = createBatcher<number, UsageRow | undefined>({
  maxItems: 64,
  maxInFlight: 1,
  waitTimeout: DB_WAIT_TIMEOUT,
  isItemError: isRejection,
  run: async (accountIds) => {
    const before = formatUtcDay(addMilliseconds(now(), -USAGE_HISTORY_DAYS * DAY_MS));
    const rows = await runStatement<UsageRow>(FIND_USAGE, { accountIds: [...new Set(accountIds)], before });
    const found = new Map(rows.map((row) => [row.id, row]));
    return accountIds.map((id) => found.get(id));
  },
});

/** Returns the usage of an account (spec: Usage summary) from the sums that charges and refunds update. */
export async function getUsageSummary(accountId: number): Promise<UsageSummary> {
  const found = await findUsage(accountId);
  if (found === undefined) throw new Error(`Account ${accountId} does not exist.`);
  const { days, totals, ...account } = found;
  const used = new Map((days ?? []).map((day) => [day[0], day]));
  await ensureModelsKnown((totals ?? []).map(([model]) => model));
  const row = Account.fromDatabaseJson(account);
  const plan = getActivePlan(row);
  return {
    account: row,
    plan,
    parallelLimit: plan === null && row.live_account_id === null ? 0 : row.parallel_limit,
    history: getHistoryDays(now()).map((date) => {
      const [, credits = 0, generations = 0] = used.get(date) ?? [];
      return { date, credits, generations };
    }),
    byModel: (totals ?? []).map(([model, credits, generations]) => ({
      model: getModelInfo(model).name,
      credits,
      generations,
    })),
  };
}

const state = perService(() => ({ today: '', days: [] as string[] }));

/** Lists the last 30 UTC days, today last. Cached for the day. */
function getHistoryDays(moment: Date): string[] {
  const today = formatUtcDay(moment);
  const cached = state();
  if (cached.today !== today) {
    cached.days = listLastUtcDays(moment, USAGE_HISTORY_DAYS);
    cached.today = today;
  }
  return cached.days;
}
