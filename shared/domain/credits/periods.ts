import type { Transaction } from 'objection';
import { addMonths } from '../../lib/calendar.ts';
import { now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { readSqlFunction } from '../../lib/database/sqlFunctions.ts';
import { Account } from '../../tables/Account.ts';
import type { LedgerEntry } from '../../tables/LedgerEntry.ts';
import type { Subscription } from '../../tables/Subscription.ts';
import { type EntryInput, postEntries } from './ledger.ts';

/** Start of a month of a subscription: `(started_at, month)`. */
export const MONTH_START = readSqlFunction(new URL('./monthStart.sql', import.meta.url));

/** Plan whose credits a month of a subscription grants: `(subscription_id, started_at, month)`. */
export const MONTH_PLAN = readSqlFunction(new URL('./monthPlan.sql', import.meta.url), [MONTH_START]);

/**
 * The monthly credit periods of a subscription: its first month, renewals, and the end. Each month is granted by the
 * plan history, whatever the subscription's plan is by now. The effect keys in the ledger make each grant unique.
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
    ...buildPeriod(subscription, { month: 0, granted: monthlyCredits, rollover: 0 }),
    ...nothingUsed(account),
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
  const { uuid } = subscription;
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
    ...buildPeriod(subscription, { month, granted, rollover }),
  });
}

function buildPeriod(
  { started_at: startedAt }: Subscription,
  { month, granted, rollover }: Pick<EndedMonth, 'month' | 'granted' | 'rollover'>,
): Partial<Account> {
  return {
    period_index: month,
    period_start: addMonths(startedAt, month),
    period_end: addMonths(startedAt, month + 1),
    period_granted: granted,
    period_rollover: rollover,
  };
}

const nothingUsed = ({ generation_count: count }: Account) => ({
  generation_count_at_period_start: count,
  period_used: 0,
});

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
    ...nothingUsed(account),
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
export async function renewCreditPeriods(transaction: Transaction, account: Account, until: Date): Promise<Account> {
  for (;;) {
    const bindings = { now: now(), until, account: account.id };
    const [row] = await runStatement<{ accounts: number }>(RENEW_ACCOUNT_PERIOD, bindings, transaction);
    if (row?.accounts !== 1) return account.$query(transaction);
  }
}

/** A month of a subscription, as it was granted and as it should be. */
interface Month {
  /** Credits that the plan history grants; null without a plan, for which nothing is corrected. */
  due: number | null;
  /** Name of the plan that grants them. */
  planName: string | null;
  /** Credits that were granted, less those that were taken back. */
  granted: number;
  /** Sum of the entries that were posted to the plan bucket during the month, without burns and refunds. */
  posted: number;
  /** Plan credits at its end; 0 if no entry says so. */
  left: number;
  /** Number of corrections so far, which are numbered. */
  corrections: number;
}

const READ_DUE_GRANTS = prepared(
  'read_due_grants',
  `SELECT month, plan.credits AS due, plan.name AS "planName"
     FROM subscriptions s CROSS JOIN generate_series(0, cast(:last AS int)) AS month
     LEFT JOIN LATERAL ${MONTH_PLAN.installedName}(s.id, s.started_at, month) plan ON true
    WHERE s.id = :subscription ORDER BY month`,
);

const READ_PLAN_ENTRIES = prepared(
  'read_plan_entries',
  `SELECT entry_type, plan_amount, effect_key FROM ledger_entries
    WHERE account_id = :account AND entry_type IN ('grant', 'rollover', 'expiry') AND strpos(effect_key, :subscription) > 0
    ORDER BY number`,
);

type PlanEntry = Pick<LedgerEntry, 'entry_type' | 'plan_amount' | 'effect_key'>;

/**
 * Brings the granted months of a locked account in line with the plan history of its subscription: posts the difference
 * of an upgrade, takes back that of a returned one as far as plan credits are left, and repeats what would have expired
 * and rolled over meanwhile. So the plan credits are the same, however late a change is known.
 */
async function correctGrants(transaction: Transaction, account: Account, subscription: Subscription): Promise<Account> {
  const months = await readMonths(transaction, account, subscription);
  const isCorrect = months.every(({ due, granted }) => due === null || due === granted);
  const current = months.at(-1);
  if (isCorrect || current === undefined) return account;
  const entries = buildCorrections(months, account.plan_credits, subscription.uuid);
  return postEntries(transaction, account, entries, { period_granted: current.granted });
}

async function readMonths(transaction: Transaction, account: Account, subscription: Subscription): Promise<Month[]> {
  const dueRows = await runStatement<Pick<Month, 'due' | 'planName'>>(
    READ_DUE_GRANTS,
    { subscription: subscription.id, last: account.period_index },
    transaction,
  );
  const months = dueRows.map((row): Month => ({ ...row, granted: 0, posted: 0, left: 0, corrections: 0 }));
  const owner = { account: account.id, subscription: subscription.uuid };
  let current = -1;
  for (const entry of await runStatement<PlanEntry>(READ_PLAN_ENTRIES, owner, transaction)) {
    const { entry_type: type, plan_amount: amount } = entry;
    const { month, correction } = parseEffectKey(entry);
    const isRenewal = month !== null && correction === undefined;
    // The rest of the month before; the entries after it belong to the month that begins.
    if (isRenewal && type === 'expiry') (months[month - 1] as Month).left = -amount;
    else {
      if (isRenewal) current = month;
      const posted = months[current];
      if (posted !== undefined) posted.posted += amount;
    }
    const named = month === null ? undefined : months[month];
    if (named === undefined || type === 'rollover' || (isRenewal && type === 'expiry')) continue;
    if (correction !== 'lapsed') named.granted += amount;
    if (correction !== undefined) named.corrections += 1;
  }
  (months.at(-1) as Month).left = account.plan_credits;
  return months;
}

/**
 * Parses the effect key of an entry of a subscription: `{type}:{uuid}:{month}` for a renewal, with `:{number}` for a
 * correction of the month's grant, `:lapsed:{number}` for credits that would have expired. Others have no month.
 */
function parseEffectKey({ effect_key: key }: PlanEntry): { month: number | null; correction: string | undefined } {
  const [kind, , month = '', correction] = (key as string).split(':');
  return { month: kind !== 'restored' && /^\d+$/.test(month) ? Number(month) : null, correction };
}

/** Returns the plan credits that the months would have left with the due grants and the actual use. */
function computePlanCredits(months: Month[]): number {
  let carried = 0;
  for (const [index, { due, granted, posted, left }] of months.entries()) {
    const grant = due ?? granted;
    const unspent = Math.max(0, carried + grant - (posted - left));
    if (index === months.length - 1) return unspent;
    carried = Math.min(unspent, grant);
  }
  return 0;
}

/**
 * Builds the missing grants, then the removal of what is too much: of months that were granted too much, then the rest.
 * Counts them as granted.
 */
function buildCorrections(months: Month[], planCredits: number, uuid: string): EntryInput[] {
  const wanted = computePlanCredits(months);
  const last = months.length - 1;
  const entries: EntryInput[] = [];
  let excess = planCredits - wanted;
  const post = (amount: number, description: string, name: string) => {
    excess += amount;
    const entryType = amount > 0 ? 'grant' : 'expiry';
    const effectKey = `${entryType}:${uuid}:${name}`;
    entries.push({ entryType, amount, planAmount: amount, description, effectKey });
  };
  for (const [index, month] of months.entries()) {
    const missing = (month.due ?? 0) - month.granted;
    if (missing <= 0) continue;
    const rest = index === last ? `rest of this month's credits` : 'credits of an earlier month';
    post(missing, `Upgrade to the ${month.planName} plan: ${rest}`, `${index}:${month.corrections + 1}`);
    month.granted += missing;
  }
  for (const [index, month] of [...months.entries()].toReversed()) {
    const credits = Math.min(excess, month.due === null ? 0 : month.granted - month.due);
    if (credits <= 0) continue;
    post(-credits, 'Upgrade refunded or disputed: its credits taken back', `${index}:${month.corrections + 1}`);
    month.granted -= credits;
  }
  const { corrections } = months[last] as Month;
  if (excess > 0) post(-excess, 'Unspent plan credits of earlier months', `${last}:lapsed:${corrections + 1}`);
  return entries;
}
