import type { Transaction } from 'objection';
import type { Account } from '../../tables/Account.ts';
import type { Subscription } from '../../tables/Subscription.ts';
import { getPlanBySlug } from '../../lib/catalog/catalog.ts';
import { endCreditPeriods, renewCreditPeriods, startCreditPeriods, upgradeCreditPeriod } from '../credits/periods.ts';
import { entitlementFor, NO_ENTITLEMENT } from './entitlement.ts';
import { requireReleasedPlan } from '../catalog/releasedPlans.ts';

/**
 * The transitions of a subscription: what they do to the entitlement and the credits of its account. The caller holds
 * the account's lock and writes the subscription's own row. An account uses one subscription at a time; transitions of
 * its other ones change nothing here.
 */

/**
 * Starts a subscription: grants its first month's credits, and completes the onboarding if only the plan was missing.
 * Plan credits left from an earlier subscription expire.
 */
export async function startSubscription(
  transaction: Transaction,
  account: Account,
  subscription: Subscription,
): Promise<Account> {
  await requireReleasedPlan(getPlanBySlug(subscription.plan_slug), transaction);
  return startCreditPeriods(transaction, account, subscription, {
    ...entitlementFor(subscription),
    ...(account.onboarding_step === 'plan' ? { onboarding_step: 'complete' } : {}),
    subscription_id: subscription.id,
  });
}

/** Suspends a subscription: no credits may be spent, and none expire. */
export async function suspendSubscription(
  transaction: Transaction,
  account: Account,
  { id }: Subscription,
): Promise<Account> {
  if (account.subscription_id !== id) return account;
  return account.$query(transaction).patchAndFetch(NO_ENTITLEMENT);
}

/**
 * Resumes a suspended subscription, or applies a change to it. Once a larger plan is paid for, it raises this month's
 * grant to its own amount: what the month was granted before counts, so that switching up, down and up again grants
 * nothing twice. In the last paid month nothing is granted, as the rest of it costs next to nothing.
 * @param isPaid whether the latest invoice is paid.
 */
export async function applySubscriptionChange(
  transaction: Transaction,
  account: Account,
  subscription: Subscription,
  isPaid: boolean,
): Promise<Account> {
  if (account.subscription_id !== subscription.id) return account;
  await requireReleasedPlan(getPlanBySlug(subscription.plan_slug), transaction);
  const entitled = await account.$query(transaction).patchAndFetch(entitlementFor(subscription));
  if (!isPaid || subscription.status !== 'active') return entitled;
  return upgradeCreditPeriod(transaction, entitled, subscription);
}

/**
 * Grants the months of a subscription that started before its end and were not granted yet. Must be called before its
 * row is marked as ended, as only active subscriptions are renewed.
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

/** Ends a subscription. Its plan credits expire; top-up credits stay. */
export async function endSubscription(
  transaction: Transaction,
  account: Account,
  subscription: Subscription,
): Promise<Account> {
  if (account.subscription_id !== subscription.id) return account;
  return endCreditPeriods(transaction, account, subscription, { ...NO_ENTITLEMENT, subscription_id: null });
}
