import type { Transaction } from 'objection';
import { now } from '../../lib/clock.ts';
import { isRejection, prepared, runStatement } from '../../lib/db.ts';
import { logger } from '../../lib/logger.ts';
import { creditPeriodsRenewed } from '../../lib/metrics.ts';
import { PLANS } from '../../spec/plans.ts';
import { Account } from '../../tables/Account.ts';

/** Accounts whose month is turned by one statement. */
const BATCH_SIZE = 1_000;

/**
 * The turn of a credit period (docs/decisions.md: Credits), for as many due accounts as fit one statement: what is left
 * of the plan's credits expires, up to a month's worth of it is carried over, and the next month is granted; as ledger
 * entries in this order, so that they alone add up to the balance.
 *
 * Months are counted from the subscription's start each time, so that a month end that was clamped is not lost. Only
 * what is paid for is granted. Accounts that somebody else works on are passed over: the next statement finds them.
 * The effect key makes a month's grant one of its kind; that the account's row moves on in the same statement makes
 * sure that it is not tried twice.
 */
const prepareRenewal = (name: string, condition: string, limit: string) =>
  prepared(
    name,
    `WITH plan AS MATERIALIZED (
     SELECT * FROM json_to_recordset(:plans) AS p (slug text, name text, credits integer)
   ), due AS MATERIALIZED (
     SELECT a.id, a.balance, a.plan_credits, a.topup_credits, a.ledger_count, a.generation_count, a.period_index, a.period_end,
            least(a.plan_credits, a.period_granted) AS carried, plan.credits AS granted, plan.name AS plan_name,
            s.uuid AS subscription, s.started_at
       FROM accounts a
       JOIN subscriptions s ON s.id = a.subscription_id AND s.status = 'active'
       JOIN plan ON plan.slug = a.plan_slug
      WHERE a.plan_slug IS NOT NULL AND a.period_end <= :until AND a.period_end < s.paid_until ${condition}
      ${limit}
        FOR NO KEY UPDATE OF a SKIP LOCKED
   ), turned AS (
     UPDATE accounts a
        SET balance = due.topup_credits + due.carried + due.granted,
            plan_credits = due.carried + due.granted,
            ledger_count = due.ledger_count + 1 + cast(due.plan_credits > 0 AS int) + cast(due.carried > 0 AS int),
            period_index = due.period_index + 1,
            period_start = due.period_end,
            period_end = (due.started_at AT TIME ZONE 'UTC' + make_interval(months => due.period_index + 2)) AT TIME ZONE 'UTC',
            period_granted = due.granted,
            period_rollover = due.carried,
            generation_count_at_period_start = due.generation_count,
            period_used = 0
       FROM due WHERE a.id = due.id
   ), entries AS (
     INSERT INTO ledger_entries (account_id, number, entry_type, amount, plan_amount, balance_after, description,
                                 effect_key, created_at)
     SELECT due.id, due.ledger_count + entry.place, entry.type, entry.amount, entry.amount, entry.balance_after,
            entry.description, entry.type || ':' || due.subscription || ':' || due.period_index + 1, cast(:now AS timestamptz)
       FROM due, LATERAL (VALUES
              (1, 'expiry', -due.plan_credits, due.topup_credits, 'Unspent plan credits of the month'),
              (1 + cast(due.plan_credits > 0 AS int), 'rollover', due.carried, due.topup_credits + due.carried,
               'Rolled over from the month before'),
              (1 + cast(due.plan_credits > 0 AS int) + cast(due.carried > 0 AS int), 'grant', due.granted,
               due.topup_credits + due.carried + due.granted, 'Monthly credits: ' || due.plan_name || ' plan')
            ) AS entry (place, type, amount, balance_after, description)
      WHERE entry.amount <> 0
   )
   SELECT cast(count(*) AS int) AS accounts FROM due`,
  );

const RENEW_DUE_PERIODS = prepareRenewal('renew_credit_periods', '', `ORDER BY a.period_end LIMIT ${BATCH_SIZE}`);
const RENEW_ACCOUNT_PERIOD = prepareRenewal('renew_account_credit_period', 'AND a.id = :account', '');

const PLAN_ROWS = JSON.stringify(
  PLANS.map(({ slug, name, monthlyCredits }) => ({ slug, name, credits: monthlyCredits })),
);

/**
 * Turns the credit period of every account whose month is over, as often as months have passed: after days of
 * standstill each is turned in its order, none twice.
 * @returns how many periods were turned.
 */
export async function renewDueCreditPeriods(): Promise<number> {
  let renewedCount = 0;
  for (;;) {
    const accounts = await renewBatch();
    renewedCount += accounts;
    creditPeriodsRenewed.inc(accounts);
    if (accounts === 0) break;
  }
  if (renewedCount > 0) logger.info({ renewedCount }, 'credit periods turned');
  return renewedCount;
}

async function renewBatch(): Promise<number> {
  try {
    const [row] = await runStatement<{ accounts: number }>(RENEW_DUE_PERIODS, {
      plans: PLAN_ROWS,
      now: now(),
      until: now(),
    });
    return row?.accounts ?? 0;
  } catch (error) {
    if (!isRejection(error)) throw error;
    logger.error({ error: (error as Error).message }, 'some account cannot be granted its month: one by one');
    return renewOneByOne();
  }
}

/** One account that the database refuses does not keep the others from their month. */
async function renewOneByOne(): Promise<number> {
  const due = await Account.query()
    .select('accounts.id')
    // Suspended and lapsed accounts are not due, and must not keep others out of the batch.
    .innerJoin('subscriptions', 'subscriptions.id', 'accounts.subscription_id')
    .where('subscriptions.status', 'active')
    .whereNotNull('accounts.plan_slug')
    .where('accounts.period_end', '<=', now())
    .whereColumn('accounts.period_end', '<', 'subscriptions.paid_until')
    .orderBy('accounts.period_end')
    .limit(BATCH_SIZE);
  let renewedCount = 0;
  for (const { id } of due) {
    try {
      const bindings = { plans: PLAN_ROWS, now: now(), until: now(), account: id };
      const [row] = await runStatement<{ accounts: number }>(RENEW_ACCOUNT_PERIOD, bindings);
      renewedCount += row?.accounts ?? 0;
    } catch (error) {
      if (!isRejection(error)) throw error;
      logger.error({ accountId: id, error: (error as Error).message }, 'an account is not granted its month');
    }
  }
  return renewedCount;
}

/**
 * Turns what is due of one account that the caller has locked, before something is worked out from the month that it is
 * in: an upgrade in the moment after a month's end would else be granted for both.
 * @param until months that begin later are not due.
 */
export async function renewCreditPeriods(
  transaction: Transaction,
  account: Account,
  until: Date = now(),
): Promise<Account> {
  for (;;) {
    const bindings = { plans: PLAN_ROWS, now: now(), until, account: account.id };
    const [row] = await runStatement<{ accounts: number }>(RENEW_ACCOUNT_PERIOD, bindings, transaction);
    if (row?.accounts !== 1) return account.$query(transaction);
  }
}
