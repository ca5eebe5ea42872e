import type { BillingStatus } from '../../../../shared/presenters/billingStatus.ts';
import { formatNumber } from '../../../web/components/formatAmount.ts';
import { formatDate } from '../../../web/components/formatTime.ts';

/** Describes plan and state of a subscription in one or two sentences. */
export function describeSubscription({ plan, status, currentPeriodEnd, cancelAtPeriodEnd }: BillingStatus): string {
  if (plan === null)
    return status === 'none'
      ? 'No plan yet. Subscribe to receive credits every month.'
      : `No active plan. The last subscription is ${status.replace('_', ' ')}.`;
  const until =
    currentPeriodEnd === null ? '' : `, ${cancelAtPeriodEnd ? 'ends' : 'renews'} on ${formatDate(currentPeriodEnd)}`;
  const due = status === 'past_due' ? ' The last payment failed. Update your payment method.' : '';
  return `${plan.name} plan: ${formatNumber(plan.monthlyCredits)} credits a month, ${plan.parallelLimit} generations at a time${until}.${due}`;
}
