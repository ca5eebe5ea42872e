import { getPlanBySlug } from '../../lib/catalog/catalog.ts';
import type { Transaction } from 'objection';
import { addMonths } from '../../lib/calendar.ts';
import { now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { Account } from '../../tables/Account.ts';
import type { Subscription } from '../../tables/Subscription.ts';
import { type EntryInput, postEntries } from './ledger.ts';
import { buildLowCreditsThreshold } from './lowCredits.ts';

/**
 * The monthly credit periods of a subscription: its first month, renewals, an upgrade within a month, and the end. The
 * effect keys in the ledger make each grant unique.
 */

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
  const { name, monthlyCredits } = getPlanBySlug(subscription.plan_slug);
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
 * Raises the grant of the current month to that of a larger plan. What the month was granted before counts, so that
 * switching up, down and up again grants nothing twice. In the last paid month nothing is granted.
 */
export async function upgradeCreditPeriod(
  transaction: Transaction,
  account: Account,
  subscription: Subscription,
): Promise<Account> {
  const plan = getPlanBySlug(subscription.plan_slug);
  if (account.period_granted >= plan.monthlyCredits) return account;
  // A month that is due is granted by the new plan.
  const current = await renewCreditPeriods(transaction, account);
  const missing = plan.monthlyCredits - current.period_granted;
  const isLastMonth = current.period_end === null || current.period_end >= subscription.paid_until;
  if (missing <= 0 || isLastMonth) return current;
  const difference: EntryInput = {
    entryType: 'grant',
    amount: missing,
    planAmount: missing,
    description: `Upgrade to the ${plan.name} plan: rest of this month's credits`,
    effectKey: `grant:${subscription.uuid}:${current.period_index}:${plan.slug}`,
  };
  return postEntries(transaction, current, [difference], { period_granted: plan.monthlyCredits });
}

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
    `expiry:${subscription.uuid}:end`,
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

/**
 * Renews the credit period of as many due accounts as fit one statement: the plan credits expire, at most a month's
 * worth of them rolls over, and the next month is granted, as ledger entries in this order.
 *
 * Months are counted from the start of the subscription, so that a clamped month end does not shift later ones. Only paid
 * months are granted, with the credits of the released plan, whatever catalog this process has. Locked accounts are
 * skipped and found by the next statement. The effect key makes a month's grant unique, and the account's row advances
 * in the same statement.
 *
 * OFFSET 0 makes the planner look up subscription and plan for each account in the order of the index, until the limit is
 * reached. Otherwise it may join and sort all due accounts for each batch. If another transaction has changed the account
 * since the snapshot, Postgres evaluates only the outer WHERE for its new row, so that repeats the conditions; as CASE, for
 * which the planner does not expect fewer rows than the limit.
 * @param options.limit order and number of the accounts.
 * @param options.columns further columns of the result.
 */
export const prepareRenewal = (name: string, condition: string, { limit = '', columns = '' } = {}) =>
  prepared(
    name,
    `WITH plan AS MATERIALIZED (
     SELECT slug, name, monthly_credits AS credits FROM catalog_plans
   ), due AS MATERIALIZED (
     SELECT a.id, a.balance, a.plan_credits, a.topup_credits, a.ledger_count, a.generation_count, a.period_index, a.period_end,
            least(a.plan_credits, a.period_granted) AS carried, plan.credits AS granted, plan.name AS plan_name,
            a.webhook_count, a.credits_low_since, a.credits_low_threshold, s.uuid AS subscription, s.started_at
       FROM accounts a
       CROSS JOIN LATERAL (
         SELECT id, uuid, started_at, paid_until FROM subscriptions
          WHERE id = a.subscription_id AND status = 'active' AND a.period_end < paid_until OFFSET 0) s
       CROSS JOIN LATERAL (SELECT slug, name, credits FROM plan WHERE slug = a.plan_slug OFFSET 0) plan
      WHERE a.plan_slug IS NOT NULL AND a.period_end <= :until ${condition}
        AND CASE WHEN s.id = a.subscription_id AND a.period_end < s.paid_until AND plan.slug = a.plan_slug THEN true
                 ELSE false END
      ${limit}
        FOR NO KEY UPDATE OF a SKIP LOCKED
   ), renewed AS (
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
            period_used = 0,
            credits_low_since =
              CASE WHEN due.topup_credits + due.carried + due.granted
                        < ${buildLowCreditsThreshold('due.credits_low_threshold', 'due.granted')}
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
