import type { VNode } from 'preact';
import type { BillingStatus } from '../../../../shared/presenters/billingStatus.ts';
import type { UsageSummary } from '../../../../shared/domain/usage/usageSummary.ts';
import type { Account } from '../../../../shared/tables/Account.ts';
import { describeSubscription } from '../../billing/pages/describeSubscription.ts';
import { BarChart } from '../../../web/components/charts.tsx';
import { formatNumber } from '../../../web/components/formatAmount.ts';
import { PeriodUsage } from '../../usage/pages/usage/periodUsage.tsx';
import { UsageTable } from '../../usage/pages/usage/usageTable.tsx';

interface CreditsProps {
  account: Account;
  billing: BillingStatus;
  usage: UsageSummary;
}

/** Balance, plan, current period, the credits of the last 30 days, and the totals by model. */
export function CreditsSection({ account, billing, usage }: CreditsProps): VNode {
  return (
    <section class="card" aria-labelledby="credits">
      <h2 id="credits">Credits and plan</h2>
      <p>
        <span class="figure">{formatNumber(account.balance)}</span> credits left
      </p>
      <p>{describeSubscription(billing)}</p>
      <PeriodUsage summary={usage} />
      {usage.history.some(({ credits }) => credits !== 0) ? (
        <>
          <h3 class="apart">Credits by day, last 30 days</h3>
          <BarChart
            title="Credits by day, last 30 days"
            bars={usage.history.map(({ date, credits }) => ({ label: date, value: credits }))}
            format={formatNumber}
          />
        </>
      ) : null}
      {usage.byModel.length === 0 ? null : (
        <>
          <h3 class="apart">By model, since the account was created</h3>
          <UsageTable title="Model" rows={usage.byModel.map(({ model, ...sum }) => ({ label: model, ...sum }))} />
        </>
      )}
      <div class="buttons apart">
        <a class={billing.plan === null ? 'button main' : 'button'} href="/account/billing/">
          {billing.plan === null ? 'Choose a plan' : 'Buy credits or change the plan'}
        </a>
        <a class="button" href="/account/usage/">
          Usage by day and model
        </a>
        <a class="button" href="/account/connect/">
          Connect an assistant
        </a>
      </div>
    </section>
  );
}
