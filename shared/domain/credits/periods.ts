import type { Transaction } from 'objection';
import { addMonths } from '../../lib/calendar.ts';
import { now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { readSqlFunction } from '../../lib/database/sqlFunctions.ts';
import { Account } from '../../tables/Account.ts';
import type { Subscription } from '../../tables/Subscription.ts';
import { type EntryInput, postEntries } from './ledger.ts';
import { correctGrants } from './correctGrants.ts';
import { LOW_CREDITS_THRESHOLD } from './lowCredits.ts';
import { MONTH_PLAN, MONTH_START } from './monthPlan.ts';

/**
 * The monthly credit periods of a subscription: its first month, renewals, and the end. Each month is granted by the plan
 * history, whatever the subscription's plan is by now. The effect keys in the ledger make each grant unique.
 */

const FIND_FIRST_PLAN = prepared(
  'find_first_month_plan',
  `SELECT plan.name, plan.credits FROM subscriptions s, ${MONTH_PLAN.installedName}(s.id, s.started_at, 0) plan
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
  /** Plan credits that expired when the subscription ended, less those that were restored since. */
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
          cast(coalesce((SELECT -sum(amount) FROM entry WHERE month = 'end'), 0)
               - coalesce((SELECT sum(amount) FROM ledger_entries
                            WHERE account_id = :account AND entry_type = 'grant'
                              AND split_part(effect_key, ':', 1) = 'restored' AND split_part(effect_key, ':', 2) = :uuid), 0)
            AS int) AS expired
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

export const RENEW_CREDIT_PERIODS = readSqlFunction(new URL('./renewCreditPeriods.sql', import.meta.url), [
  MONTH_START,
  MONTH_PLAN,
  LOW_CREDITS_THRESHOLD,
]);

/** Renews the due period of one account, unless another transaction keeps it locked. */
export const RENEW_ACCOUNT_PERIOD = prepared(
  'renew_account_credit_period',
  `SELECT accounts FROM ${RENEW_CREDIT_PERIODS.installedName}(
     ARRAY (SELECT id FROM accounts WHERE id = :account FOR NO KEY UPDATE SKIP LOCKED), :until, :now)`,
);

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
