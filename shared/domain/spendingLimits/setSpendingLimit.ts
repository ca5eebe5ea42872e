import type { Transaction } from 'objection';
import { now } from '../../lib/clock.ts';
import { prepared, runStatement, type Statement } from '../../lib/database/preparedStatements.ts';
import type { CreditLimit } from '../../presenters/spendingLimit.ts';
import type { SpendingPeriod } from '../../spec/states.ts';
import { Account } from '../../tables/Account.ts';
import { SpendingLimit } from '../../tables/SpendingLimit.ts';
import { lockAccount } from '../credits/ledger.ts';
import { getWindowStart } from './window.ts';

/**
 * Owner of a spending limit: an API key by its number, an application with all its grants, or a member by its number
 * with all its sessions, keys and applications.
 */
export type Spender = { keyNumber: number } | { clientId: string } | { memberNumber: number };

/** Window of a limit, with the credits that were spent in it. */
type Window = Pick<SpendingLimit, 'period' | 'window_start' | 'generation_count_at_window_start' | 'used'>;

/**
 * Sets, changes or removes the spending limit of a key, an application or a member, from the next charge on. Locks the
 * account until the end of the transaction. Generations that it created earlier in the window count.
 * @param limit null removes it.
 * @returns true if it was changed.
 */
export async function setSpendingLimit(
  transaction: Transaction,
  accountId: number,
  spender: Spender,
  limit: CreditLimit | null,
): Promise<boolean> {
  const account = await lockAccount(transaction, accountId);
  const columns = toColumns(spender);
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
      ...(await readWindow(transaction, accountId, spender, period)),
      created_at: now(),
      updated_at: now(),
    });
    return true;
  }
  if (row.credits === credits && row.period === period) return false;
  // The window continues if it was maintained and the period stays.
  const isMaintained = row.credits !== null && row.period === period;
  const window = isMaintained ? {} : await readWindow(transaction, accountId, spender, period);
  await row.$query(transaction).patch({ credits, ...window, updated_at: now() });
  return true;
}

function toColumns(spender: Spender): Partial<Pick<SpendingLimit, 'key_number' | 'client_id' | 'member_number'>> {
  if ('keyNumber' in spender) return { key_number: spender.keyNumber };
  return 'clientId' in spender ? { client_id: spender.clientId } : { member_number: spender.memberNumber };
}

/** Number of generations before the window: all of them if it has none yet, and none of them without a start. */
const WINDOW_COUNT = `(SELECT CASE WHEN cast(:windowStart AS timestamptz) IS NULL THEN 0
                               ELSE coalesce((SELECT number FROM first) - 1, generation_count) END
                         FROM accounts WHERE id = :accountId)`;

/**
 * Finds the first generation of the window, by its burn, and sums those of the credential from that one on. Deleted
 * generations count, and only ledger entries lead to them. Of concurrent creates the one that began first may be
 * charged last: as with charges, all that are charged after the first one of a window belong to it.
 */
const buildReadWindow = (spender: string, isSpender: string): Statement =>
  prepared(
    `read_spending_window_of_${spender}`,
    `WITH first AS MATERIALIZED (
       SELECT min(l.number) AS entry, min(g.number) AS number
         FROM ledger_entries l JOIN generations g ON g.uuid = l.generation_uuid AND g.account_id = l.account_id
        WHERE l.account_id = :accountId AND l.entry_type = 'burn' AND l.created_at >= :windowStart
     ), used AS (
       SELECT sum(g.credits_charged) AS credits
         FROM ledger_entries l JOIN generations g ON g.uuid = l.generation_uuid AND g.account_id = l.account_id
        WHERE l.account_id = :accountId AND l.entry_type = 'burn' AND l.number >= (SELECT entry FROM first)
          AND ${isSpender} AND g.status <> 'failed' AND g.refunded_at IS NULL
     )
     SELECT ${WINDOW_COUNT} AS generation_count_at_window_start,
            cast(coalesce((SELECT credits FROM used), 0) AS bigint) AS used`,
  );
const READ_WINDOW_OF_KEY = buildReadWindow(
  'key',
  `EXISTS (SELECT FROM usage_keys WHERE account_id = :accountId AND key_number = :keyNumber)
          AND g.api_key_number = :keyNumber`,
);
const READ_WINDOW_OF_MEMBER = buildReadWindow('member', 'g.member_number = :memberNumber');

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

/** The same for a member. An account without other members has no sums by member. */
const READ_TOTAL_OF_MEMBER = prepared(
  'read_spending_total_of_member',
  `SELECT cast(0 AS bigint) AS generation_count_at_window_start,
          cast(coalesce(CASE WHEN a.member_count > 1
                             THEN (SELECT credits FROM usage_members u
                                    WHERE u.account_id = a.id AND u.member_number = cast(:memberNumber AS integer))
                             ELSE (SELECT sum(credits) FROM usage_totals t WHERE t.account_id = a.id) END, 0)
               AS bigint) AS used
     FROM accounts a WHERE a.id = :accountId`,
);

/** Computes the window of this moment. The account must be locked, so that no charge or refund is missed. */
async function readWindow(
  transaction: Transaction,
  accountId: number,
  spender: Spender,
  period: SpendingPeriod,
): Promise<Window> {
  const windowStart = getWindowStart(period, now());
  const statement = chooseStatement(spender, windowStart === null);
  const isTotal = statement === READ_TOTAL_OF_KEY || statement === READ_TOTAL_OF_MEMBER;
  const bindings = { accountId, ...spender, ...(isTotal ? {} : { windowStart }) };
  const [row] = await runStatement<Pick<Window, 'generation_count_at_window_start' | 'used'>>(
    statement,
    bindings,
    transaction,
  );
  return { period, window_start: windowStart, ...(row as NonNullable<typeof row>) };
}

function chooseStatement(spender: Spender, isTotal: boolean): Statement {
  if ('clientId' in spender) return READ_WINDOW_OF_APPLICATION;
  if ('keyNumber' in spender) return isTotal ? READ_TOTAL_OF_KEY : READ_WINDOW_OF_KEY;
  return isTotal ? READ_TOTAL_OF_MEMBER : READ_WINDOW_OF_MEMBER;
}
