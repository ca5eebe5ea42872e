import { createBatcher } from '../lib/batcher.ts';
import { utcDay } from '../lib/calendar.ts';
import { now } from '../lib/clock.ts';
import { DATABASE_PATIENCE, isRefusal, prepared, run } from '../lib/db.ts';
import { perService } from '../lib/serviceScope.ts';
import { offsetOf, type Page } from '../lib/pagination.ts';
import { modelBySlug } from '../spec/catalog.ts';
import { PAGE_SIZE, USAGE_HISTORY_DAYS } from '../spec/limits.ts';
import { Account } from '../tables/Account.ts';
import { LedgerEntry } from '../tables/LedgerEntry.ts';

export interface UsageOfDay {
  /** YYYY-MM-DD, UTC. */
  date: string;
  credits: number;
  generations: number;
}

export interface UsageOfModel {
  /** Display name. */
  model: string;
  credits: number;
  generations: number;
}

export interface Usage {
  account: Account;
  /** The last 30 UTC days, today last, days without use included. */
  history: UsageOfDay[];
  /** Totals since the account began. */
  byModel: UsageOfModel[];
}

/** Account, days and totals of all whose usage is asked for in this process at the moment. */
const USAGE = prepared(
  'usage',
  `SELECT a.id, a.plan_slug, a.spend_until, a.balance, a.period_used, a.period_granted, a.period_rollover,
          a.period_start, a.period_end, a.in_flight,
          (SELECT json_agg(json_build_array(day, credits, generations))
             FROM (SELECT to_char(day, 'YYYY-MM-DD') AS day, sum(credits) AS credits, sum(generations) AS generations
                     FROM usage_days WHERE account_id = a.id AND day > cast(:before AS date) GROUP BY usage_days.day) d
          ) AS days,
          (SELECT json_agg(json_build_array(model, credits, generations) ORDER BY model)
             FROM usage_totals WHERE account_id = a.id) AS totals
     FROM accounts a
    WHERE a.id = ANY (cast(:accountIds AS bigint[]))`,
);

/** What was used, of whatever the first part names: credits, generations. */
type Sum = [string, number, number];
type Found = Account & { days: Sum[] | null; totals: Sum[] | null };

const find = createBatcher<number, Found | undefined>({
  maxItems: 64,
  maxInFlight: 1,
  patience: DATABASE_PATIENCE,
  isOneItemsFault: isRefusal,
  run: async (accountIds) => {
    const before = daysBefore(now(), USAGE_HISTORY_DAYS);
    const rows = await run<Found>(USAGE, { accountIds: [...new Set(accountIds)], before });
    const found = new Map(rows.map((row) => [row.id, row]));
    return accountIds.map((id) => found.get(id));
  },
});

/** What an account has spent (spec: Usage summary), from the sums that the charge keeps, less refunds. */
export async function usageOf(accountId: number): Promise<Usage> {
  const found = await find(accountId);
  if (found === undefined) throw new Error(`There is no account ${accountId}.`);
  const { days, totals, ...account } = found;
  const used = new Map((days ?? []).map((day) => [day[0], day]));
  return {
    account: Account.fromDatabaseJson(account),
    history: lastDays(now()).map((date) => {
      const [, credits = 0, generations = 0] = used.get(date) ?? [];
      return { date, credits, generations };
    }),
    byModel: (totals ?? []).map(([model, credits, generations]) => ({
      model: modelBySlug(model).name,
      credits,
      generations,
    })),
  };
}

const state = perService(() => ({ today: '', days: [] as string[] }));

/** The last 30 days, today last; the same all day long. */
function lastDays(moment: Date): string[] {
  const today = utcDay(moment);
  const lately = state();
  if (lately.today !== today) {
    lately.days = Array.from({ length: USAGE_HISTORY_DAYS }, (_, index) =>
      daysBefore(moment, USAGE_HISTORY_DAYS - 1 - index),
    );
    lately.today = today;
  }
  return lately.days;
}

function daysBefore(moment: Date, days: number): string {
  return utcDay(new Date(moment.getTime() - days * 86_400_000));
}

/** Ledger entries of an account, newest first; found by number, so that every page costs the same. */
export async function listLedger(accountId: number, page: number): Promise<Page<LedgerEntry>> {
  const { ledger_count: totalItems } = await Account.query()
    .findById(accountId)
    .select('ledger_count')
    .throwIfNotFound();
  const newest = totalItems - offsetOf(page);
  const items = await LedgerEntry.query()
    .where({ account_id: accountId })
    .whereBetween('number', [newest - PAGE_SIZE + 1, newest])
    .orderBy('number', 'desc');
  return { page, totalItems, items };
}
