import type { Transaction } from 'objection';
import { Account } from '../../tables/Account.ts';
import { lockAccount } from '../credits/ledger.ts';

/**
 * State read at the payment processor that belongs to one account. Plain data: it is fetched without a lock, and
 * applied in a transaction that holds the account's lock, against what the database says by then.
 */
export interface AccountSnapshot {
  accountId: number;
  /** Why it can be applied only in part. Its event stays unapplied and is retried until the cause is fixed. */
  problem: string | null;
}

/** A snapshot of which nothing can be applied. */
export interface UnresolvedSnapshot extends AccountSnapshot {
  kind: 'unresolved';
  problem: string;
}

/** Runs a transaction that holds the account's lock. */
export function withAccountLock<Result>(
  accountId: number,
  work: (transaction: Transaction, account: Account) => Promise<Result>,
): Promise<Result> {
  return Account.transaction(async (transaction) => work(transaction, await lockAccount(transaction, accountId)));
}
