import { now } from '../lib/clock.ts';
import { utcDay } from '../lib/calendar.ts';
import { prepared, run } from '../lib/db.ts';
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

const HISTORY = prepared(
  'usage_history',
  `SELECT to_char(day, 'YYYY-MM-DD') AS date, sum(credits) AS credits, sum(generations) AS generations
     FROM usage_days WHERE account_id = :accountId AND day > cast(:before AS date) GROUP BY day`,
);

const BY_MODEL = prepared(
  'usage_by_model',
  'SELECT model, credits, generations FROM usage_totals WHERE account_id = :accountId ORDER BY model',
);

/** A sum of bigints is of a type that arrives as text. */
type Sums<Key extends string> = Record<Key, string> & { credits: string | number; generations: number };

/** What an account has spent (spec: Usage summary), from the sums that the charge keeps, less refunds. */
export async function usageOf(accountId: number): Promise<Usage> {
  const today = now();
  const days = Array.from({ length: USAGE_HISTORY_DAYS }, (_, index) =>
    daysBefore(today, USAGE_HISTORY_DAYS - 1 - index),
  );
  const [account, history, byModel] = await Promise.all([
    Account.query().findById(accountId).throwIfNotFound(),
    run<Sums<'date'>>(HISTORY, { accountId, before: daysBefore(today, USAGE_HISTORY_DAYS) }),
    run<Sums<'model'>>(BY_MODEL, { accountId }),
  ]);
  const used = new Map(history.map((row) => [row.date, row]));
  return {
    account,
    history: days.map((date) => ({
      date,
      credits: Number(used.get(date)?.credits ?? 0),
      generations: used.get(date)?.generations ?? 0,
    })),
    byModel: byModel.map((row) => ({
      model: modelBySlug(row.model).name,
      credits: Number(row.credits),
      generations: row.generations,
    })),
  };
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
