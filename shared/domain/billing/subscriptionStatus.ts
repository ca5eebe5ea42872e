import type { ProcessorSubscription } from '../../gateways/payments/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { LIVE_SUBSCRIPTION_STATUSES, type SubscriptionStatus } from '../../spec/states.ts';
import type { Subscription } from '../../tables/Subscription.ts';
import { RENEWAL_GRACE_MS } from '../credits/entitlement.ts';

/** Returns whether credits may be spent in a status. */
export function isLiveStatus(status: SubscriptionStatus): boolean {
  return LIVE_SUBSCRIPTION_STATUSES.includes(status);
}

/**
 * Returns whether the running year of a subscription is paid: by the invoices that were paid, never by the status at
 * the processor. While a payment of it is disputed, it still is: the outcome of the dispute decides.
 */
export function isYearPaid({ paid_until: paidUntil }: Pick<Subscription, 'paid_until'>): boolean {
  return paidUntil > now();
}

/** Derives the status of a subscription from its state at the processor, and from what is paid and disputed. */
export function deriveSubscriptionStatus(
  { status }: ProcessorSubscription,
  known: Pick<Subscription, 'paid_until' | 'started_at'> & { disputedChargeId: string | null },
): SubscriptionStatus {
  if (status === 'canceled') return 'canceled';
  const isNeverPaid = known.paid_until <= known.started_at;
  if (isNeverPaid) return isLiveStatus(status) ? 'incomplete' : status;
  if (known.disputedChargeId !== null) return 'unpaid';
  // The open invoice is that of a change to another plan, which counts from when it is paid for.
  if (isYearPaid(known)) return 'active';
  // The invoice of the renewal stays a draft, for example because its tax cannot be computed.
  const isOverdue = known.paid_until <= addMilliseconds(now(), -RENEWAL_GRACE_MS);
  return status === 'active' && isOverdue ? 'past_due' : status;
}
