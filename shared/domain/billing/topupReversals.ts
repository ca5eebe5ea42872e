import type { Transaction } from 'objection';
import { now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import type { Account } from '../../tables/Account.ts';
import { Topup } from '../../tables/Topup.ts';
import { postEntries } from '../credits/ledger.ts';

const SETTLE_OWED_TOPUPS = prepared('settle_owed_topups', 'SELECT settle_owed_topups(:accountId, :at)');

/**
 * Returns the credits of a dispute that was won or a refund that failed, and takes back what top-ups of the account owe
 * after refunds and disputes, each as far as its own remainder has it. What generations in progress have of the rest is
 * taken when they are refunded, by a trigger of the ledger.
 */
export async function applyTopupReversals(transaction: Transaction, account: Account, { uuid }: Topup): Promise<void> {
  const topup = await Topup.query(transaction).findById(uuid).throwIfNotFound();
  const { credits_owed: owed, credits_reversed: reversed, reversal_count: count } = topup;
  if (owed < 0) {
    const entry = {
      entryType: 'grant' as const,
      amount: -owed,
      planAmount: 0,
      description: 'Top-up: refund or dispute reversed',
      effectKey: `topup:${uuid}:${count + 1}`,
    };
    await topup.$query(transaction).patch({ credits_reversed: reversed + owed, reversal_count: count + 1 });
    await postEntries(transaction, account, [entry]);
  }
  await runStatement(SETTLE_OWED_TOPUPS, { accountId: account.id, at: now() }, transaction);
}
