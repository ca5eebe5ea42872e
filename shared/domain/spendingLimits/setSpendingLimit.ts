import type { Transaction } from 'objection';
import { now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import type { CreditLimit } from '../../presenters/spendingLimit.ts';
import type { SpendingPeriod } from '../../spec/states.ts';
import { Account } from '../../tables/Account.ts';
import { SpendingLimit } from '../../tables/SpendingLimit.ts';
import { lockAccount } from '../credits/ledger.ts';
import { getWindowStart } from './window.ts';

/** A credential that can have a spending limit: an API key by its number, or an application with all its grants. */
export type SpendingCredential = { keyNumber: number } | { clientId: string };

/** Window of a limit, with the credits that were spent in it. */
type Window = Pick<SpendingLimit, 'period' | 'window_start' | 'generation_count_at_window_start' | 'used'>;

/**
 * Sets, changes or removes the spending limit of a credential, from the next charge on. Locks the account until the end
 * of the transaction. Generations that the credential created earlier in the window count.
 * @param limit null removes it.
 * @returns true if it was changed.
 */
export async function setSpendingLimit(
  transaction: Transaction,
  accountId: number,
  credential: SpendingCredential,
  limit: CreditLimit | null,
): Promise<boolean> {
  const account = await lockAccount(transaction, accountId);
  const columns = 'keyNumber' in credential ? { key_number: credential.keyNumber } : { client_id: credential.clientId };
  const row = await SpendingLimit.query(transaction).findOne({ account_id: accountId, ...columns });
  if (limit === null) {
    if (row === undefined || row.credits === null) return false;
    await row.$query(transaction).patch({ credits: null, updated_at: now() });
    return true;
  }
  const { credits, period } = limit;
  if (row === undefined) {
    const number = account.spending_limit_count + 1;
    await Account.query(transaction).findById(accountId).patch({ spending_limit_count: number });
    await SpendingLimit.query(transaction).insert({
      account_id: accountId,
      number,
      ...columns,
      credits,
      ...(await readWindow(transaction, accountId, credential, period)),
      created_at: now(),
      updated_at: now(),
    });
    return true;
  }
  if (row.credits === credits && row.period === period) return false;
  // The window continues if it was maintained and the period stays.
  const isMaintained = row.credits !== null && row.period === period;
  const window = isMaintained ? {} : await readWindow(transaction, accountId, credential, period);
  await row.$query(transaction).patch({ credits, ...window, updated_at: now() });
  return true;
}

/** Number of generations before the window: all of them if it has none yet, and none of them without a start. */
const WINDOW_COUNT = `(SELECT CASE WHEN cast(:windowStart AS timestamptz) IS NULL THEN 0
                               ELSE coalesce((SELECT number FROM first) - 1, generation_count) END
                         FROM accounts WHERE id = :accountId)`;

/**
 * Finds the first generation of the window, by its burn, and sums those of the credential from that one on. Deleted
 * generations count, and only ledger entries lead to them. Of concurrent creates the one that began first may be charged
 * last: as with charges, all that are charged after the first one of a window belong to it.
 */
const READ_WINDOW_OF_KEY = prepared(
  'read_spending_window_of_key',
  `WITH first AS MATERIALIZED (
     SELECT min(l.number) AS entry, min(g.number) AS number
       FROM ledger_entries l JOIN generations g ON g.uuid = l.generation_uuid AND g.account_id = l.account_id
      WHERE l.account_id = :accountId AND l.entry_type = 'burn' AND l.created_at >= :windowStart
   ), used AS (
     SELECT sum(g.credits_charged) AS credits
       FROM ledger_entries l JOIN generations g ON g.uuid = l.generation_uuid AND g.account_id = l.account_id
      WHERE l.account_id = :accountId AND l.entry_type = 'burn' AND l.number >= (SELECT entry FROM first)
        AND EXISTS (SELECT FROM usage_keys WHERE account_id = :accountId AND key_number = :keyNumber)
        AND g.api_key_number = :keyNumber AND g.status <> 'failed' AND g.refunded_at IS NULL
   )
   SELECT ${WINDOW_COUNT} AS generation_count_at_window_start,
          cast(coalesce((SELECT credits FROM used), 0) AS bigint) AS used`,
);

/** The same for an application. The index on `oauth_client_id` contains its generations. */
const READ_WINDOW_OF_APPLICATION = prepared(
  'read_spending_window_of_application',
  `WITH first AS MATERIALIZED (
     SELECT min(g.number) AS number
       FROM ledger_entries l JOIN generations g ON g.uuid = l.generation_uuid AND g.account_id = l.account_id
      WHERE l.account_id = :accountId AND l.entry_type = 'burn' AND l.created_at >= :windowStart
   ), used AS (
     SELECT sum(g.credits_charged) AS credits FROM generations g
      WHERE g.account_id = :accountId AND g.oauth_client_id = :clientId AND g.number > ${WINDOW_COUNT}
        AND g.status <> 'failed' AND g.refunded_at IS NULL
   )
   SELECT ${WINDOW_COUNT} AS generation_count_at_window_start,
          cast(coalesce((SELECT credits FROM used), 0) AS bigint) AS used`,
);

/** All time of a key is the sum that its charges and refunds maintain. */
const READ_TOTAL_OF_KEY = prepared(
  'read_spending_total_of_key',
  `SELECT cast(0 AS bigint) AS generation_count_at_window_start,
          coalesce((SELECT credits FROM usage_keys WHERE account_id = :accountId AND key_number = :keyNumber), 0) AS used`,
);

/** Computes the window of this moment. The account must be locked, so that no charge or refund is missed. */
async function readWindow(
  transaction: Transaction,
  accountId: number,
  credential: SpendingCredential,
  period: SpendingPeriod,
): Promise<Window> {
  const windowStart = getWindowStart(period, now());
  const statement =
    'clientId' in credential
      ? READ_WINDOW_OF_APPLICATION
      : windowStart === null
        ? READ_TOTAL_OF_KEY
        : READ_WINDOW_OF_KEY;
  const bindings = { accountId, ...credential, ...(statement === READ_TOTAL_OF_KEY ? {} : { windowStart }) };
  const [row] = await runStatement<Pick<Window, 'generation_count_at_window_start' | 'used'>>(
    statement,
    bindings,
    transaction,
  );
  return { period, window_start: windowStart, ...(row as NonNullable<typeof row>) };
}
