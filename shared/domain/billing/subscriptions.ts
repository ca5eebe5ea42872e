import type { Transaction } from 'objection';
import { addMilliseconds } from '../../lib/clock.ts';
import { PAST_DUE_GRACE_DAYS } from '../../spec/limits.ts';
import { getPlanBySlug } from '../../spec/plans.ts';
import type { Account } from '../../tables/Account.ts';
import type { Subscription } from '../../tables/Subscription.ts';
import { endCreditPeriods, renewCreditPeriods, startCreditPeriods, upgradeCreditPeriod } from '../credits/periods.ts';

/**
 * What a subscription's life means to its account: what may be spent, and which credits come and go with it. All of it
 * under the account's lock; the subscription's own row is the caller's. An account lives under one subscription at a
 * time: what becomes of another one of its changes nothing here.
 */

const DAY_MS = 86_400_000;
/** The processor begins a new year some time before it says so. */
const RENEWAL_GRACE_MS = DAY_MS;

type Entitlement = Pick<Account, 'plan_slug' | 'spendable_until' | 'parallel_limit'>;

/** What an account may do under a live subscription. */
function entitlementFor(subscription: Subscription): Entitlement {
  const plan = getPlanBySlug(subscription.plan_slug);
  return { plan_slug: plan.slug, parallel_limit: plan.parallelLimit, spendable_until: getSpendableUntil(subscription) };
}

function getSpendableUntil(subscription: Subscription): Date {
  const { past_due_since: pastDueSince, current_period_end: periodEnd } = subscription;
  if (pastDueSince !== null) return addMilliseconds(pastDueSince, PAST_DUE_GRACE_DAYS * DAY_MS);
  const isRenewed = subscription.stripe_subscription_id !== null && !subscription.cancel_at_period_end;
  return isRenewed ? addMilliseconds(periodEnd, RENEWAL_GRACE_MS) : periodEnd;
}

const NO_ENTITLEMENT: Entitlement = { plan_slug: null, spendable_until: null, parallel_limit: 0 };

/**
 * Puts an account under a subscription, with its first month's credits, and completes the onboarding where only the
 * plan was missing. Plan credits that another one has left, or a refund after its end, are not the new one's: they
 * expire.
 */
export async function startSubscription(
  transaction: Transaction,
  account: Account,
  subscription: Subscription,
): Promise<Account> {
  return startCreditPeriods(transaction, account, subscription, {
    ...entitlementFor(subscription),
    ...(account.onboarding_step === 'plan' ? { onboarding_step: 'complete' } : {}),
    subscription_id: subscription.id,
  });
}

/** Nothing may be spent for the time, and nothing is lost. */
export async function suspendSubscription(
  transaction: Transaction,
  account: Account,
  { id }: Subscription,
): Promise<Account> {
  if (account.subscription_id !== id) return account;
  return account.$query(transaction).patchAndFetch(NO_ENTITLEMENT);
}

/**
 * Takes up what was suspended, or goes on with what has changed. A larger plan than before, once it is paid for, fills
 * this month's grant up to its own: counted against what the month was granted already, so that going up, down and up
 * again grants nothing twice. Not in the last month of what is paid: the price of so short a rest is next to nothing.
 * @param isPaid whether the last invoice is.
 */
export async function applySubscriptionChange(
  transaction: Transaction,
  account: Account,
  subscription: Subscription,
  isPaid: boolean,
): Promise<Account> {
  if (account.subscription_id !== subscription.id) return account;
  const entitled = await account.$query(transaction).patchAndFetch(entitlementFor(subscription));
  if (!isPaid || subscription.status !== 'active') return entitled;
  return upgradeCreditPeriod(transaction, entitled, subscription);
}

/**
 * Grants the months of a subscription that began before its end and were not granted yet. To be called before its row
 * says that it has ended: only what is active is granted.
 */
export async function renewPeriodsUntil(
  transaction: Transaction,
  account: Account,
  subscription: Subscription,
  until: Date,
): Promise<Account> {
  if (account.subscription_id !== subscription.id) return account;
  return renewCreditPeriods(transaction, account, until);
}

/** Ends a subscription. Plan credits end with it; top-up credits stay. */
export async function endSubscription(
  transaction: Transaction,
  account: Account,
  subscription: Subscription,
): Promise<Account> {
  if (account.subscription_id !== subscription.id) return account;
  return endCreditPeriods(transaction, account, subscription, { ...NO_ENTITLEMENT, subscription_id: null });
}
