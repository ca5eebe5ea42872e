import type { Transaction } from 'objection';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import type { Account } from '../../tables/Account.ts';
import type { LedgerEntry } from '../../tables/LedgerEntry.ts';
import type { Subscription } from '../../tables/Subscription.ts';
import { type EntryInput, postEntries } from './ledger.ts';
import { MONTH_PLAN } from './monthPlan.ts';

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
export async function correctGrants(
  transaction: Transaction,
  account: Account,
  subscription: Subscription,
): Promise<Account> {
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
