import type { Transaction } from 'objection';
import { now } from '../../lib/clock.ts';
import type { LedgerEntryType } from '../../spec/states.ts';
import { Account } from '../../tables/Account.ts';
import { LedgerEntry } from '../../tables/LedgerEntry.ts';

/** A movement of credits other than those of a generation, which the charge and the settlement write themselves. */
export interface EntryInput {
  entryType: LedgerEntryType;
  /** Credits, signed. */
  amount: number;
  /** The part of amount that goes into or out of the plan bucket. */
  planAmount: number;
  description: string;
  /** Names the effect; the database refuses a second entry with the same key. */
  effectKey: string;
}

/**
 * Locks an account for the rest of a transaction. Everything that moves credits takes this lock first, so that its
 * balance, its ledger and its counters change together and in one order.
 */
export async function lockAccount(transaction: Transaction, accountId: number): Promise<Account> {
  return Account.query(transaction).findById(accountId).forNoKeyUpdate().throwIfNotFound();
}

/**
 * Writes movements to the ledger of a locked account, in order, and what they leave to the account, together with
 * whatever else of it changes.
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
  }
  return account
    .$query(transaction)
    .patchAndFetch({ ...changes, balance, plan_credits, topup_credits: balance - plan_credits, ledger_count });
}
