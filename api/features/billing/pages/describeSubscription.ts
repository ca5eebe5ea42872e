import type { BillingStatus } from '../../../../shared/presenters/billingStatus.ts';
import { formatDate } from '../../../web/components/formatTime.ts';
import { t } from './texts.ts';

/**
 * Describes plan and state of a subscription in one or two sentences. The end of a year that is not paid is not shown.
 */
export function describeSubscription({ plan, status, currentPeriodEnd, cancelAtPeriodEnd }: BillingStatus): string {
  if (plan === null) return status === 'none' ? t.noPlan() : t.lastSubscription({ status });
  const isPastDue = status === 'past_due';
  const end = isPastDue ? null : currentPeriodEnd;
  const state = t.planState({
    plan: plan.name,
    credits: plan.monthlyCredits,
    count: plan.parallelLimit,
    end: end === null ? 'unknown' : cancelAtPeriodEnd ? 'ends' : 'renews',
    date: end === null ? '' : formatDate(end),
  });
  return isPastDue ? `${state} ${t.updateMethod()}` : state;
}
