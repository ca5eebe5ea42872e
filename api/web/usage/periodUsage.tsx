import type { VNode } from 'preact';
import type { UsageSummary } from '../../../shared/domain/credits/usage.ts';
import { formatNumber } from '../components/formatAmount.ts';
import { formatDate } from '../components/formatTime.ts';

/** Balance by bucket, the credits of the current period, and the generations in progress. */
export function PeriodUsage({ summary: { account, plan } }: { summary: UsageSummary }): VNode {
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
            {formatNumber(account.period_granted)}
            {carriedOver}
          </dd>
          <dt>Next grant</dt>
          <dd>{plan === null ? 'None: there is no active plan' : formatDate(account.period_end)}</dd>
        </>
      )}
      <dt>In progress</dt>
      <dd>
        {account.in_flight} of {plan?.parallelLimit ?? 0} generations
      </dd>
    </dl>
  );
}
