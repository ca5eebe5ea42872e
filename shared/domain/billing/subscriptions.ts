import type { Transaction } from 'objection';
import { now } from '../../lib/clock.ts';
import type { Account } from '../../tables/Account.ts';
import type { Subscription } from '../../tables/Subscription.ts';
import { getPlanBySlug } from '../../lib/catalog/catalog.ts';
import { endCreditPeriods, resumeCreditPeriods, startCreditPeriods, updateCreditPeriods } from '../credits/periods.ts';
import { entitlementFor, NO_ENTITLEMENT } from '../credits/entitlement.ts';
import { requireReleasedPlan } from '../catalog/releasedPlans.ts';
import { recordEvent } from '../outbox/recordEvent.ts';

/**
 * The transitions of a subscription: what they do to the entitlement and the credits of its account. The caller holds
 * the account's lock and writes the subscription's own row. An account uses one subscription at a time; transitions of
 * its other ones change nothing here.
 */

/**
 * Starts a subscription: grants its first month's credits and those of months that have started since, and completes
 * the onboarding if only the plan was missing. Plan credits left from an earlier subscription expire.
 */
export async function startSubscription(
  transaction: Transaction,
  account: Account,
  subscription: Subscription,
): Promise<Account> {
  const plan = getPlanBySlug(subscription.plan_slug);
  await requireReleasedPlan(plan, transaction);
  const started = await startCreditPeriods(transaction, account, subscription, {
    ...entitlementFor(subscription),
    ...(account.onboarding_step === 'plan' ? { onboarding_step: 'complete' } : {}),
    subscription_id: subscription.id,
  });
  const updated = await updateCreditPeriods(transaction, started, subscription);
  const renewsAt = subscription.current_period_end;
  const details = {
    plan: plan.slug,
    credits: plan.monthlyCredits,
    next_credits_at: (updated.period_end ?? renewsAt).toISOString(),
    renews_at: renewsAt.toISOString(),
  };
  await recordEvent(transaction, {
    accountId: account.id,
    type: 'plan.activated',
    subject: subscription.uuid,
    details,
  });
  return updated;
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
 * Continues a subscription that is live: applies its entitlement, and grants what its plan history says, such as the
 * difference of an upgrade. One that had ended here, since the processor did not have it, continues with its months.
 */
export async function continueSubscription(
  transaction: Transaction,
  account: Account,
  subscription: Subscription,
): Promise<Account> {
  if (account.subscription_id !== subscription.id) return account;
  await requireReleasedPlan(getPlanBySlug(subscription.plan_slug), transaction);
  const entitled = await account.$query(transaction).patchAndFetch(entitlementFor(subscription));
  return updateCreditPeriods(transaction, entitled, subscription);
}

/** Takes up a subscription that had ended here although it had not at the processor. */
export async function resumeSubscription(
  transaction: Transaction,
  account: Account,
  subscription: Subscription,
): Promise<Account> {
  const resumed = await resumeCreditPeriods(transaction, account, subscription, { subscription_id: subscription.id });
  return continueSubscription(transaction, resumed, subscription);
}

/**
 * Ends a subscription together with other `changes` of its row. Months that started before are granted first, as the
 * service may have been down. Its plan credits expire; top-up credits stay.
 * @returns the account afterwards.
 */
export async function endSubscription(
  transaction: Transaction,
  account: Account,
  subscription: Subscription,
  changes: Partial<Subscription> = {},
): Promise<Account> {
  const endedAt = changes.ended_at ?? now();
  const granted = await updateCreditPeriods(transaction, account, subscription, endedAt);
  const ended = await subscription
    .$query(transaction)
    .patchAndFetch({ ...changes, status: 'canceled', ended_at: endedAt });
  if (account.subscription_id !== subscription.id) return account;
  return endCreditPeriods(transaction, granted, ended, { ...NO_ENTITLEMENT, subscription_id: null });
}
