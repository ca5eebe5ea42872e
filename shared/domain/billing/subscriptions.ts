import type { Transaction } from 'objection';
import { addMonths } from '../../lib/calendar.ts';
import { getPlanBySlug } from '../../spec/plans.ts';
import type { Account } from '../../tables/Account.ts';
import type { Subscription } from '../../tables/Subscription.ts';
import { postEntries, type EntryInput } from '../credits/ledger.ts';
import { renewCreditPeriods } from '../credits/periods.ts';
import { entitlementFor, NO_ENTITLEMENT } from './entitlement.ts';

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
  const plan = getPlanBySlug(subscription.plan_slug);
  const expiry = buildPlanCreditsExpiry(
    account,
    'Plan credits expired with the subscription before',
    `expiry:${subscription.uuid}:begin`,
  );
  const grant: EntryInput = {
    entryType: 'grant',
    amount: plan.monthlyCredits,
    planAmount: plan.monthlyCredits,
    description: `Monthly credits: ${plan.name} plan`,
    effectKey: `grant:${subscription.uuid}:0`,
  };
  return postEntries(transaction, account, [...expiry, grant], {
    ...entitlementFor(subscription),
    ...(account.onboarding_step === 'plan' ? { onboarding_step: 'complete' } : {}),
    subscription_id: subscription.id,
    period_index: 0,
    period_start: subscription.started_at,
    period_end: addMonths(subscription.started_at, 1),
    period_granted: plan.monthlyCredits,
    period_rollover: 0,
    generation_count_at_period_start: account.generation_count,
    period_used: 0,
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
  const plan = getPlanBySlug(subscription.plan_slug);
  const entitled = await account.$query(transaction).patchAndFetch(entitlementFor(subscription));
  if (!isPaid || subscription.status !== 'active' || entitled.period_granted >= plan.monthlyCredits) return entitled;
  // A month that is due is granted by the new plan.
  const current = await renewCreditPeriods(transaction, entitled);
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
  const expiry = buildPlanCreditsExpiry(
    account,
    'Plan credits expired with the subscription',
    `expiry:${subscription.uuid}:end`,
  );
  return postEntries(transaction, account, expiry, {
    ...NO_ENTITLEMENT,
    subscription_id: null,
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
