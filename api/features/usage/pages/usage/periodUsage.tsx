import type { VNode } from 'preact';
import type { UsageSummary } from '../../../../../shared/domain/usage/usageSummary.ts';
import type { BillingStatus } from '../../../../../shared/presenters/billingStatus.ts';
import type { Plan } from '../../../../../shared/spec/plans.ts';
import type { Account } from '../../../../../shared/tables/Account.ts';
import { formatDate } from '../../../../web/components/formatTime.ts';
import { t as shared } from '../../../../web/texts.ts';
import { PERIOD as t } from '../texts.ts';

interface PeriodUsageProps {
  summary: UsageSummary;
  status: BillingStatus['status'];
}

/** Balance by bucket, the credits of the current period, and the generations in progress. */
export function PeriodUsage({ summary: { account, plan, parallelLimit }, status }: PeriodUsageProps): VNode {
  return (
    <dl>
      <dt>{shared.balanceLabel()}</dt>
      <dd>
        {t.balanceByBucket({ balance: account.balance, plan: account.plan_credits, bought: account.topup_credits })}
      </dd>
      {account.period_start === null || account.period_end === null ? null : (
        <>
          <dt>{t.used()}</dt>
          <dd>{t.usedSince({ credits: account.period_used, date: formatDate(account.period_start) })}</dd>
          <dt>{t.granted()}</dt>
          <dd>{t.grantedAndCarriedOver({ credits: account.period_granted, carried: account.period_rollover })}</dd>
          <dt>{t.nextGrant()}</dt>
          <dd>{describeNextGrant(account, plan, status)}</dd>
        </>
      )}
      {plan === null && account.in_flight === 0 ? null : (
        <>
          <dt>{t.inProgress()}</dt>
          <dd id="in-flight" data-live={account.in_flight === 0 ? undefined : 'element'}>
            {t.inProgressOf({ count: account.in_flight, limit: parallelLimit })}
          </dd>
        </>
      )}
    </dl>
  );
}

/** The day of the next monthly credits. A plan that ends before then, or is not paid, grants no more. */
function describeNextGrant(
  { period_end: periodEnd, spendable_until: spendableUntil }: Account,
  plan: Plan | null,
  status: BillingStatus['status'],
): string {
  if (plan === null || periodEnd === null) return t.noActivePlan();
  if (status === 'past_due' || (spendableUntil !== null && spendableUntil <= periodEnd)) return t.planEnds();
  return t.creditsOn({ credits: plan.monthlyCredits, date: formatDate(periodEnd) });
}
