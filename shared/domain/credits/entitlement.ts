import { getPlanBySlug } from '../../lib/catalog/catalog.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { PAST_DUE_GRACE_DAYS } from '../../spec/limits.ts';
import { ServiceError } from '../../spec/errors.ts';
import type { Plan } from '../../spec/plans.ts';
import type { Account } from '../../tables/Account.ts';
import type { Subscription } from '../../tables/Subscription.ts';
import { DAY_MS } from '../../spec/durations.ts';

/**
 * Time from the end of a paid year in which its renewal is usually collected. The processor keeps a draft for an hour.
 */
export const RENEWAL_GRACE_MS = DAY_MS;

/** The columns of an account that say what it may use, and until when. */
export type Entitlement = Pick<Account, 'plan_slug' | 'spendable_until' | 'parallel_limit'>;

/** The entitlement of an account without a live subscription. */
export const NO_ENTITLEMENT: Entitlement = { plan_slug: null, spendable_until: null, parallel_limit: 0 };

/** Returns what an account may use with a live subscription. */
export function entitlementFor(subscription: Subscription): Entitlement {
  const plan = getPlanBySlug(subscription.plan_slug);
  return { plan_slug: plan.slug, parallel_limit: plan.parallelLimit, spendable_until: getSpendableUntil(subscription) };
}

function getSpendableUntil(subscription: Subscription): Date {
  const { past_due_since: pastDueSince, current_period_end: periodEnd } = subscription;
  if (pastDueSince !== null) return addMilliseconds(pastDueSince, PAST_DUE_GRACE_DAYS * DAY_MS);
  const isRenewed = subscription.stripe_subscription_id !== null && !subscription.cancel_at_period_end;
  return isRenewed ? addMilliseconds(periodEnd, RENEWAL_GRACE_MS) : periodEnd;
}

/**
 * Builds the error of an account without a plan that it may use. An account that is being deleted has to be restored
 * first; choosing a plan would not help it.
 */
export function buildSubscriptionRequiredError(
  { deletion_requested_at }: Pick<Account, 'deletion_requested_at'>,
  detail: string,
): ServiceError {
  const deletionDetail = 'The account is being deleted. Undo the deletion on the account page first.';
  return new ServiceError('subscription_required', deletion_requested_at === null ? detail : deletionDetail);
}

/**
 * Returns the plan whose credits an account may spend at that time, or null. An account that is being deleted has none.
 */
export function getActivePlan(account: Account, at: Date = now()): Plan | null {
  if (account.deletion_requested_at !== null) return null;
  if (account.plan_slug === null || account.spendable_until === null || account.spendable_until <= at) return null;
  return getPlanBySlug(account.plan_slug);
}
