import type { BillingStatus } from '../../../../shared/presenters/billingStatus.ts';
import { formatDate } from '../../../web/components/formatTime.ts';
import { t } from './texts.ts';

/** Describes plan and state of a subscription in one or two sentences. */
export function describeSubscription({ plan, status, currentPeriodEnd, cancelAtPeriodEnd }: BillingStatus): string {
  if (plan === null) return status === 'none' ? t.noPlan() : t.lastSubscription({ status });
  const state = t.planState({
    plan: plan.name,
    credits: plan.monthlyCredits,
    count: plan.parallelLimit,
    end: currentPeriodEnd === null ? 'unknown' : cancelAtPeriodEnd ? 'ends' : 'renews',
    date: currentPeriodEnd === null ? '' : formatDate(currentPeriodEnd),
  });
  return status === 'past_due' ? `${state} ${t.updateMethod()}` : state;
}
