import type { Transaction } from 'objection';
import { addMonths } from '../../lib/calendar.ts';
import { now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { Account } from '../../tables/Account.ts';
import type { Subscription } from '../../tables/Subscription.ts';
import { type EntryInput, postEntries } from './ledger.ts';
import { correctGrants } from './correctGrants.ts';
import { LOW_CREDITS_THRESHOLD } from './lowCredits.ts';
import { buildMonthPlan, buildMonthStart } from './monthPlan.ts';

/**
 * The monthly credit periods of a subscription: its first month, renewals, and the end. Each month is granted by the plan
 * history, whatever the subscription's plan is by now. The effect keys in the ledger make each grant unique.
 */

const FIND_FIRST_PLAN = prepared(
  'find_first_month_plan',
  `SELECT plan.* FROM subscriptions s
    CROSS JOIN LATERAL (${buildMonthPlan({ subscriptionId: 's.id', startedAt: 's.started_at', month: '0' })}) plan
    WHERE s.id = :subscription`,
);

interface MonthPlan {
  name: string;
  credits: number;
}

/**
 * Grants the first month of a subscription to a locked account, together with other `changes` of its row. Plan credits
 * left from an earlier subscription expire.
 */
export async function startCreditPeriods(
  transaction: Transaction,
  account: Account,
  subscription: Subscription,
  changes: Partial<Account>,
): Promise<Account> {
  const [plan] = await runStatement<MonthPlan>(FIND_FIRST_PLAN, { subscription: subscription.id }, transaction);
  if (plan === undefined) throw new Error(`Subscription ${subscription.id} has no plan for its first month.`);
  const { name, credits: monthlyCredits } = plan;
  const expiry = buildPlanCreditsExpiry(
    account,
    'Plan credits expired with the subscription before',
    `expiry:${subscription.uuid}:begin`,
  );
  const grant: EntryInput = {
    entryType: 'grant',
    amount: monthlyCredits,
    planAmount: monthlyCredits,
    description: `Monthly credits: ${name} plan`,
    effectKey: `grant:${subscription.uuid}:0`,
  };
  return postEntries(transaction, account, [...expiry, grant], {
    ...changes,
    period_index: 0,
    period_start: subscription.started_at,
    period_end: addMonths(subscription.started_at, 1),
    period_granted: monthlyCredits,
    period_rollover: 0,
    generation_count_at_period_start: account.generation_count,
    period_used: 0,
  });
}

/**
 * Grants the months of a locked account's subscription that have started, and corrects those that its plan history says
 * to grant otherwise. Does nothing unless the subscription is active.
 * @param until months that start later are not due.
 */
export async function updateCreditPeriods(
  transaction: Transaction,
  account: Account,
  subscription: Subscription,
  until: Date = now(),
): Promise<Account> {
  if (account.subscription_id !== subscription.id || subscription.status !== 'active') return account;
  return correctGrants(transaction, await renewCreditPeriods(transaction, account, until), subscription);
}

/**
 * Continues the months of a subscription that had ended here and is live again: its last granted month is the current
 * one, and the plan credits that expired with the end are restored.
 */
export async function resumeCreditPeriods(
  transaction: Transaction,
  account: Account,
  subscription: Subscription,
  changes: Partial<Account>,
): Promise<Account> {
  const { uuid, started_at: startedAt } = subscription;
  const [last] = await runStatement<EndedMonth>(FIND_ENDED_MONTH, { account: account.id, uuid }, transaction);
  if (last === undefined) throw new Error(`Subscription ${subscription.id} was not granted any month.`);
  const { month, granted, rollover, expired } = last;
  const restored: EntryInput = {
    entryType: 'grant',
    amount: expired,
    planAmount: expired,
    description: 'Plan credits restored: the subscription continues',
    effectKey: `restored:${uuid}:${account.ledger_count + 1}`,
  };
  return postEntries(transaction, account, expired === 0 ? [] : [restored], {
    ...changes,
    period_index: month,
    period_start: addMonths(startedAt, month),
    period_end: addMonths(startedAt, month + 1),
    period_granted: granted,
    period_rollover: rollover,
  });
}

interface EndedMonth {
  month: number;
  granted: number;
  rollover: number;
  /** Plan credits that expired when the subscription ended last. */
  expired: number;
}

/** Corrections of a month's grant have a fourth part in their key, which is a number also where they take back. */
const FIND_ENDED_MONTH = prepared(
  'find_ended_month',
  `WITH entry AS MATERIALIZED (
     SELECT number, entry_type, amount, split_part(effect_key, ':', 3) AS month, split_part(effect_key, ':', 4) AS correction
       FROM ledger_entries
      WHERE account_id = :account AND entry_type IN ('grant', 'rollover', 'expiry')
        AND split_part(effect_key, ':', 1) IN ('grant', 'rollover', 'expiry') AND split_part(effect_key, ':', 2) = :uuid
   ), last AS (
     SELECT max(cast(month AS int)) AS month FROM entry WHERE entry_type = 'grant'
   )
   SELECT last.month, cast(coalesce(sum(amount) FILTER (WHERE entry_type = 'rollover'), 0) AS int) AS rollover,
          cast(sum(amount) FILTER (WHERE entry_type = 'grant' OR (entry_type = 'expiry' AND correction ~ '^[0-9]+$')) AS int)
            AS granted,
          coalesce((SELECT -amount FROM entry WHERE month = 'end' ORDER BY number DESC LIMIT 1), 0) AS expired
     FROM last JOIN entry ON entry.month = last.month::text GROUP BY last.month`,
);

/** Expires the remaining plan credits of a locked account and clears its period, together with other `changes`. */
export async function endCreditPeriods(
  transaction: Transaction,
  account: Account,
  subscription: Subscription,
  changes: Partial<Account>,
): Promise<Account> {
  const expiry = buildPlanCreditsExpiry(
    account,
    'Plan credits expired with the subscription',
    `expiry:${subscription.uuid}:end:${account.ledger_count + 1}`,
  );
  return postEntries(transaction, account, expiry, {
    ...changes,
    period_index: 0,
    period_start: null,
    period_end: null,
    period_granted: 0,
    period_rollover: 0,
    generation_count_at_period_start: account.generation_count,
    period_used: 0,
  });
}

/** Returns the entry that expires the remaining plan credits; none if there are none. */
function buildPlanCreditsExpiry({ plan_credits: left }: Account, description: string, effectKey: string): EntryInput[] {
  if (left <= 0) return [];
  return [{ entryType: 'expiry', amount: -left, planAmount: -left, description, effectKey }];
}

const MONTH_PLAN = buildMonthPlan({
  subscriptionId: 's.id',
  startedAt: 's.started_at',
  month: 'a.period_index + 1',
});

/**
 * Renews the credit period of as many due accounts as fit one statement: the plan credits expire, at most a month's
 * worth of them rolls over, and the next month is granted, as ledger entries in this order.
 *
 * Months are counted from the start of the subscription, so that a clamped month end does not shift later ones. Only paid
 * months are granted, by the plan history and with the credits of the released plan, whatever catalog this process has.
 * Locked accounts are skipped and found by the next statement. The effect key makes a month's grant unique, and the
 * account's row advances in the same statement.
 *
 * OFFSET 0 makes the planner look up subscription and plan for each account in the order of the index, until the limit is
 * reached. Otherwise it may join and sort all due accounts for each batch. If another transaction has changed the account
 * since the snapshot, Postgres evaluates only the outer WHERE for its new row, which therefore requires that the month is
 * the same; as CASE, for which the planner does not expect fewer rows than the limit.
 * @param options.limit order and number of the accounts.
 * @param options.columns further columns of the result.
 */
export const prepareRenewal = (name: string, condition: string, { limit = '', columns = '' } = {}) =>
  prepared(
    name,
    `WITH due AS MATERIALIZED (
     SELECT a.id, a.balance, a.plan_credits, a.topup_credits, a.ledger_count, a.generation_count, a.period_index, a.period_end,
            least(a.plan_credits, a.period_granted) AS carried, plan.credits AS granted, plan.name AS plan_name,
            a.webhook_count, a.credits_low_since, a.credits_low_threshold, s.uuid AS subscription, s.started_at
       FROM accounts a
       CROSS JOIN LATERAL (
         SELECT id, uuid, started_at, a.period_end AS due_at FROM subscriptions
          WHERE id = a.subscription_id AND status = 'active' AND a.period_end < paid_until OFFSET 0) s
       CROSS JOIN LATERAL (${MONTH_PLAN} OFFSET 0) plan
      WHERE a.plan_slug IS NOT NULL AND a.period_end <= :until ${condition}
        AND CASE WHEN s.id = a.subscription_id AND s.due_at = a.period_end THEN true ELSE false END
      ${limit}
        FOR NO KEY UPDATE OF a SKIP LOCKED
   ), renewed AS (
     UPDATE accounts a
        SET balance = due.topup_credits + due.carried + due.granted,
            plan_credits = due.carried + due.granted,
            ledger_count = due.ledger_count + 1 + cast(due.plan_credits > 0 AS int) + cast(due.carried > 0 AS int),
            period_index = due.period_index + 1,
            period_start = due.period_end,
            period_end = ${buildMonthStart('due.started_at', 'due.period_index + 2')},
            period_granted = due.granted,
            period_rollover = due.carried,
            generation_count_at_period_start = due.generation_count,
            period_used = 0,
            credits_low_since =
              CASE WHEN due.topup_credits + due.carried + due.granted
                        < ${LOW_CREDITS_THRESHOLD.installedName}(due.credits_low_threshold, due.granted)
                   THEN due.credits_low_since END
       FROM due WHERE a.id = due.id
   ), entries AS (
     INSERT INTO ledger_entries (account_id, number, entry_type, amount, plan_amount, balance_after, description,
                                 effect_key, created_at)
     SELECT due.id, due.ledger_count + entry.position, entry.type, entry.amount, entry.amount, entry.balance_after,
            entry.description, entry.type || ':' || due.subscription || ':' || due.period_index + 1, cast(:now AS timestamptz)
       FROM due, LATERAL (VALUES
              (1, 'expiry', -due.plan_credits, due.topup_credits, 'Unspent plan credits of the month'),
              (1 + cast(due.plan_credits > 0 AS int), 'rollover', due.carried, due.topup_credits + due.carried,
               'Rolled over from the month before'),
              (1 + cast(due.plan_credits > 0 AS int) + cast(due.carried > 0 AS int), 'grant', due.granted,
               due.topup_credits + due.carried + due.granted, 'Monthly credits: ' || due.plan_name || ' plan')
            ) AS entry (position, type, amount, balance_after, description)
      WHERE entry.amount <> 0
   ), event AS (
     INSERT INTO outbox_events (account_id, type, subject, created_at, next_attempt_at)
     SELECT id, 'credits.granted', 'grant:' || subscription || ':' || period_index + 1, cast(:now AS timestamptz),
            cast(:now AS timestamptz)
       FROM due WHERE webhook_count > 0
     ON CONFLICT (account_id, type, subject) DO NOTHING
   )
   SELECT cast(count(*) AS int) AS accounts, max(period_end) AS "lastEnd"${columns} FROM due`,
  );

/** Renews the due period of one account. */
export const RENEW_ACCOUNT_PERIOD = prepareRenewal('renew_account_credit_period', 'AND a.id = :account');

/**
 * Renews the due periods of one account that the caller has locked, before a calculation from its current month: an
 * upgrade just after the end of a month would otherwise be granted for both months.
 * @param until months that start later are not due.
 */
export async function renewCreditPeriods(
  transaction: Transaction,
  account: Account,
  until: Date = now(),
): Promise<Account> {
  for (;;) {
    const bindings = { now: now(), until, account: account.id };
    const [row] = await runStatement<{ accounts: number }>(RENEW_ACCOUNT_PERIOD, bindings, transaction);
    if (row?.accounts !== 1) return account.$query(transaction);
  }
}
