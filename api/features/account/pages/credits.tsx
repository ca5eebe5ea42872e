import type { VNode } from 'preact';
import type { BillingStatus } from '../../../../shared/presenters/billingStatus.ts';
import type { UsageSummary } from '../../../../shared/domain/usage/usageSummary.ts';
import type { Account } from '../../../../shared/tables/Account.ts';
import { describeSubscription } from '../../billing/pages/describeSubscription.ts';
import { describePurchase } from '../../../web/components/describePurchase.ts';
import { formatNumber } from '../../../web/components/formatAmount.ts';
import { t as shared } from '../../../web/texts.ts';
import { PeriodUsage } from '../../usage/pages/usage/periodUsage.tsx';
import { Section } from '../../../web/components/section.tsx';
import { t } from './texts.ts';

interface CreditsProps {
  account: Account;
  billing: BillingStatus;
  usage: UsageSummary;
  mayBuy: boolean;
}

/** Balance with what it buys, plan, and the current month. */
export function CreditsSection({ account, billing, usage, mayBuy }: CreditsProps): VNode {
  const { balance, plan_credits: left, period_granted: granted, period_rollover: carried } = account;
  // A refund of an earlier month can lift them above both.
  const total = Math.max(left, granted + carried);
  const purchase = describePurchase(balance);
  return (
    <Section id="credits" class="stack" title={shared.credits()}>
      <p class="figure">{formatNumber(balance)}</p>
      {purchase === '' ? null : <p class="quiet">{t.enoughFor({ purchase })}</p>}
      {granted === 0 ? null : (
        <p class="small">
          <progress value={left} max={total} aria-labelledby="plan-left" />
          <span class="quiet" id="plan-left">
            {t.planCreditsLeft({ left, total })}
          </span>
        </p>
      )}
      {billing.plan === null && balance === 0 ? null : <PeriodUsage summary={usage} status={billing.status} />}
      <p>{describeSubscription(billing)}</p>
      {mayBuy ? (
        <div class="buttons">
          <a class={billing.plan === null ? 'button main' : 'button'} href="/account/billing/">
            {billing.plan === null ? shared.choosePlan() : t.planAndBilling()}
          </a>
        </div>
      ) : null}
    </Section>
  );
}
