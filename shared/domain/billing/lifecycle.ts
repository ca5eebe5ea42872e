import type { Transaction } from 'objection';
import { addMonths } from '../../lib/calendar.ts';
import { addMilliseconds } from '../../lib/clock.ts';
import { PAST_DUE_DAYS } from '../../spec/limits.ts';
import { type Plan, planBySlug } from '../../spec/plans.ts';
import type { Account } from '../../tables/Account.ts';
import type { Subscription } from '../../tables/Subscription.ts';
import { moveCredits } from '../credits.ts';
import { turnPeriodsOf } from '../grants.ts';

/**
 * What a subscription's life means to its account: what may be spent, and which credits come and go with it. All of it
 * under the account's lock; the subscription's own row is the caller's.
 */

const DAY_MS = 86_400_000;
/** The processor begins a new year some time before it says so. */
const RENEWAL_GRACE_MS = DAY_MS;

type Standing = Pick<Account, 'plan_slug' | 'spend_until' | 'parallel_limit'>;

/** What an account may do under a live subscription. */
export function standingUnder(subscription: Subscription): Standing {
  const plan = planBySlug(subscription.plan_slug);
  return { plan_slug: plan.slug, parallel_limit: plan.parallelLimit, spend_until: spendUntil(subscription) };
}

function spendUntil(subscription: Subscription): Date {
  const { past_due_since: since, current_period_end: end } = subscription;
  if (since !== null) return addMilliseconds(since, PAST_DUE_DAYS * DAY_MS);
  const isRenewed = subscription.stripe_subscription_id !== null && !subscription.cancel_at_period_end;
  return isRenewed ? addMilliseconds(end, RENEWAL_GRACE_MS) : end;
}

const NO_STANDING: Standing = { plan_slug: null, spend_until: null, parallel_limit: 0 };

/** Begins a subscription with its first month's credits. */
export async function begin(transaction: Transaction, account: Account, subscription: Subscription): Promise<Account> {
  const plan = planBySlug(subscription.plan_slug);
  const grant = {
    entryType: 'grant' as const,
    amount: plan.monthlyCredits,
    planAmount: plan.monthlyCredits,
    description: `Monthly credits: ${plan.name} plan`,
    effectKey: `grant:${subscription.uuid}:0`,
  };
  return moveCredits(transaction, account, [grant], {
    ...standingUnder(subscription),
    period_index: 0,
    period_start: subscription.started_at,
    period_end: addMonths(subscription.started_at, 1),
    period_granted: plan.monthlyCredits,
    period_rollover: 0,
    period_used: 0,
  });
}

/** Nothing may be spent for the time, and nothing is lost. */
export async function suspend(transaction: Transaction, account: Account): Promise<Account> {
  return account.$query(transaction).patchAndFetch(NO_STANDING);
}

/** Takes up what was suspended, or goes on as before with what has changed. */
export async function goOn(transaction: Transaction, account: Account, subscription: Subscription): Promise<Account> {
  return account.$query(transaction).patchAndFetch(standingUnder(subscription));
}

/** Ends a subscription. Plan credits end with it; top-up credits stay. */
export async function end(transaction: Transaction, account: Account, subscription: Subscription): Promise<Account> {
  const left = account.plan_credits;
  const expiry = {
    entryType: 'expiry' as const,
    amount: -left,
    planAmount: -left,
    description: 'Plan credits expired with the subscription',
    effectKey: `expiry:${subscription.uuid}:end`,
  };
  return moveCredits(transaction, account, left > 0 ? [expiry] : [], NO_STANDING);
}

/**
 * Puts a live subscription's account on its plan. A larger one than before fills this month's grant up to its own,
 * counted against what the month was granted already, so that going up, down and up again grants nothing twice.
 */
export async function changePlan(
  transaction: Transaction,
  account: Account,
  subscription: Subscription,
): Promise<Account> {
  const plan: Plan = planBySlug(subscription.plan_slug);
  // A month that is due is the new plan's already, whichever way the change goes.
  const placed = await account.$query(transaction).patchAndFetch(standingUnder(subscription));
  const current = await turnPeriodsOf(transaction, placed);
  const missing = Math.max(0, plan.monthlyCredits - current.period_granted);
  const difference = {
    entryType: 'grant' as const,
    amount: missing,
    planAmount: missing,
    description: `Upgrade to the ${plan.name} plan: rest of this month's credits`,
    effectKey: `grant:${subscription.uuid}:${current.period_index}:${plan.slug}`,
  };
  return moveCredits(transaction, current, missing > 0 ? [difference] : [], {
    ...standingUnder(subscription),
    period_granted: current.period_granted + missing,
  });
}
