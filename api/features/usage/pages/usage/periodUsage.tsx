import type { VNode } from 'preact';
import type { UsageSummary } from '../../../../../shared/domain/usage/usageSummary.ts';
import type { Plan } from '../../../../../shared/spec/plans.ts';
import type { Account } from '../../../../../shared/tables/Account.ts';
import { formatNumber } from '../../../../web/components/formatAmount.ts';
import { formatDate } from '../../../../web/components/formatTime.ts';

/** Balance by bucket, the credits of the current period, and the generations in progress. */
export function PeriodUsage({ summary: { account, plan, parallelLimit } }: { summary: UsageSummary }): VNode {
  const carriedOver = account.period_rollover > 0 ? ` and ${formatNumber(account.period_rollover)} carried over` : '';
  return (
    <dl>
      <dt>Balance</dt>
      <dd>
        {formatNumber(account.balance)} credits: {formatNumber(account.plan_credits)} of your plan,{' '}
        {formatNumber(account.topup_credits)} bought
      </dd>
      {account.period_start === null || account.period_end === null ? null : (
        <>
          <dt>Used</dt>
          <dd>
            {formatNumber(account.period_used)} credits since {formatDate(account.period_start)}
          </dd>
          <dt>Granted</dt>
          <dd>
            {formatNumber(account.period_granted)} credits{carriedOver}
          </dd>
          <dt>Next grant</dt>
          <dd>{describeNextGrant(account, plan)}</dd>
        </>
      )}
      {plan === null && account.in_flight === 0 ? null : (
        <>
          <dt>In progress</dt>
          <dd id="in-flight" data-live={account.in_flight === 0 ? undefined : 'element'}>
            {account.in_flight} of {parallelLimit} generations
          </dd>
        </>
      )}
    </dl>
  );
}

/** The day of the next monthly credits. A plan that ends before then grants no more. */
function describeNextGrant(
  { period_end: periodEnd, spendable_until: spendableUntil }: Account,
  plan: Plan | null,
): string {
  if (plan === null || periodEnd === null) return 'None: there is no active plan';
  if (spendableUntil !== null && spendableUntil <= periodEnd) return 'None: the plan ends, or its payment is overdue';
  return `${formatNumber(plan.monthlyCredits)} credits on ${formatDate(periodEnd)}`;
}
