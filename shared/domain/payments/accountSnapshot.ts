import type { Transaction } from 'objection';
import type { PaidInvoice } from '../../gateways/payments/index.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { Account } from '../../tables/Account.ts';
import { withAccountLock } from '../credits/ledger.ts';

/**
 * State read at the payment processor that belongs to one account: fetched without a lock, and applied in a transaction
 * that holds the account's lock, against what the database says by then.
 */
export interface AccountSnapshot {
  accountId: number;
  /**
   * Why it can be applied only in part, or not at all. Its event stays unapplied and is retried until the cause is
   * fixed.
   */
  problem: string | null;
  apply: (transaction: Transaction, account: Account) => Promise<void>;
}

/** Applies a snapshot in a transaction of its own. */
export async function applySnapshot(snapshot: AccountSnapshot | null): Promise<void> {
  if (snapshot !== null) await withAccountLock(snapshot.accountId, snapshot.apply);
}

/** Returns a snapshot of which nothing can be applied. */
export function buildUnresolved(accountId: number, problem: string): AccountSnapshot {
  return { accountId, problem, apply: async () => {} };
}

const NEXT_SYNC_VERSION = prepared('sync_version', `SELECT nextval('sync_versions') AS version`);

/**
 * Returns the version of a snapshot, taken before it is read at the processor. Rows keep the version that was applied
 * last and ignore older ones: a snapshot with a later version was read later, and every change is followed by a read.
 */
export async function nextSyncVersion(): Promise<number> {
  const [row] = await runStatement<{ version: number }>(NEXT_SYNC_VERSION, {});
  return (row as { version: number }).version;
}

/**
 * Finds the account of a customer, or else the account that the subscription was started for. A customer may also have
 * subscriptions of other products: those have neither a price of ours nor the account in their metadata.
 */
export async function findCustomerAccount({
  customerId,
  accountUuid,
  isForPlan,
}: Pick<PaidInvoice, 'customerId' | 'accountUuid' | 'isForPlan'>): Promise<Account | undefined> {
  if (accountUuid === null && !isForPlan) return undefined;
  const customer = await Account.query().findOne({ stripe_customer_id: customerId });
  if (customer !== undefined || accountUuid === null) return customer;
  return Account.query().findOne({ uuid: accountUuid });
}
