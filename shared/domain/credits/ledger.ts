import type { Transaction } from 'objection';
import { now } from '../../lib/clock.ts';
import { createAccountSlots } from '../../lib/accountSlots.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { readSqlFunction } from '../../lib/database/sqlFunctions.ts';
import { DB_WAIT_TIMEOUT } from '../../lib/database/waitTimeout.ts';
import { buildRangeBindings, hasConditions } from '../../lib/listFilter.ts';
import { getPageOffset, type ListPage } from '../../lib/pagination.ts';
import { PAGE_SIZE } from '../../spec/limits.ts';
import type { LedgerEntryType } from '../../spec/states.ts';
import { Account } from '../../tables/Account.ts';
import { LedgerEntry } from '../../tables/LedgerEntry.ts';
import { recordEvent } from '../outbox/recordEvent.ts';
import { type LedgerFilter, listAcceptedTypes, type ListedEntry, listFilteredLedger } from './listFilteredLedger.ts';

/**
 * Input of a ledger entry. Entries of a generation are posted by its own statements instead: the burn by
 * `generations/chargeGenerations.sql`, the refund by `generations/execution/failGenerations.sql`.
 */
export interface EntryInput {
  entryType: LedgerEntryType;
  /** Signed credits. */
  amount: number;
  /** The part of `amount` that is posted to the plan bucket. */
  planAmount: number;
  description: string;
  /** Unique key of the effect; the database rejects a second entry with the same key. */
  effectKey: string;
}

const withTransactionSlot = createAccountSlots(2, DB_WAIT_TIMEOUT);

/**
 * Runs a transaction with an account locked. A process runs two of an account at a time: others would occupy
 * connections that other accounts need, only to wait for its lock. One that has waited as long as for a connection
 * fails like that. Charges have batches of their own instead.
 * @param work must not begin another transaction of the same account.
 */
export function withAccountLock<Result>(
  accountId: number,
  work: (transaction: Transaction, account: Account) => Promise<Result>,
): Promise<Result> {
  return withTransactionSlot(accountId, () =>
    Account.transaction(async (transaction) => work(transaction, await lockAccount(transaction, accountId))),
  );
}

/**
 * Locks an account until the end of the transaction. Every transaction that posts credits takes this lock first, so
 * that balance, ledger and counters change together and in one order.
 */
export async function lockAccount(transaction: Transaction, accountId: number): Promise<Account> {
  return Account.query(transaction).findById(accountId).forNoKeyUpdate().throwIfNotFound();
}

/**
 * Posts entries to the ledger of a locked account, in order, and updates its balances together with other `changes`.
 * Grants are recorded as events.
 */
export async function postEntries(
  transaction: Transaction,
  account: Account,
  entries: EntryInput[],
  changes: Partial<Account> = {},
): Promise<Account> {
  let { balance, plan_credits, ledger_count } = account;
  for (const entry of entries) {
    balance += entry.amount;
    plan_credits += entry.planAmount;
    ledger_count += 1;
    await LedgerEntry.query(transaction).insert({
      account_id: account.id,
      number: ledger_count,
      entry_type: entry.entryType,
      amount: entry.amount,
      plan_amount: entry.planAmount,
      balance_after: balance,
      description: entry.description,
      effect_key: entry.effectKey,
      created_at: now(),
    });
    if (entry.entryType !== 'grant' || account.webhook_count === 0) continue;
    await recordEvent(transaction, { accountId: account.id, type: 'credits.granted', subject: entry.effectKey });
  }
  return account.$query(transaction).patchAndFetch({
    ...changes,
    balance,
    plan_credits,
    topup_credits: balance - plan_credits,
    ledger_count,
  });
}

const LIST_ENTRIES = prepared(
  'list_ledger_entries',
  `SELECT * FROM ledger_entries
    WHERE account_id = :accountId AND number BETWEEN :oldest AND :newest
    ORDER BY number DESC`,
);

/** Entries of one batch of `readLedgerInBatches`. */
const EXPORT_BATCH_SIZE = 1_000;

const EXPORT_ENTRIES = prepared(
  'export_ledger_entries',
  `SELECT * FROM ledger_entries
    WHERE account_id = :accountId AND number BETWEEN :oldest AND :newest AND entry_type = ANY (cast(:types AS text[]))
      AND created_at >= cast(:after AS timestamptz) AND created_at < cast(:before AS timestamptz)
    ORDER BY number DESC`,
);

/**
 * Reads all ledger entries that an account has at the start and that match a filter, newest first. A filter does not
 * shorten the pass over the ledger, so that the order is that of the numbers and no batch takes longer than another. A
 * batch without matches is empty, so that the reader can stop at it.
 */
export async function* readLedgerInBatches(
  accountId: number,
  filter: LedgerFilter = {},
): AsyncGenerator<LedgerEntry[]> {
  const { ledger_count: count } = await Account.query().findById(accountId).select('ledger_count').throwIfNotFound();
  const conditions = { accountId, types: listAcceptedTypes(filter), ...buildRangeBindings(filter) };
  for (let newest = count; newest > 0; newest -= EXPORT_BATCH_SIZE) {
    const range = { oldest: newest - EXPORT_BATCH_SIZE + 1, newest };
    yield await runStatement<LedgerEntry>(EXPORT_ENTRIES, { ...conditions, ...range });
  }
}

/**
 * Lists ledger entries of an account, newest first. Found by number, so that every page costs the same. With a filter,
 * see {@link listFilteredLedger}.
 */
export async function listLedgerEntries(
  accountId: number,
  page: number,
  filter: LedgerFilter = {},
): Promise<ListPage<ListedEntry>> {
  if (hasConditions(filter)) return listFilteredLedger(accountId, page, filter);
  const { ledger_count: totalItems } = await Account.query()
    .findById(accountId)
    .select('ledger_count')
    .throwIfNotFound();
  const newest = totalItems - getPageOffset(page);
  const items = await runStatement<LedgerEntry>(LIST_ENTRIES, { accountId, oldest: newest - PAGE_SIZE + 1, newest });
  return { page, totalItems, items };
}

/** Called by the functions that change many accounts. */
export const LOCK_ACCOUNTS = readSqlFunction(new URL('./lockAccounts.sql', import.meta.url));
