import { getSubscriptionOverview } from '../../../../shared/domain/billing/billingStatus.ts';
import { getActivePlan } from '../../../../shared/domain/credits/entitlement.ts';
import { getLowCreditsThreshold } from '../../../../shared/domain/credits/lowCredits.ts';
import type { Account } from '../../../../shared/tables/Account.ts';
import { formatCount } from '../../../web/components/formatAmount.ts';
import { formatDateTime } from '../../../web/components/formatTime.ts';
import type { AreaNotice, FindNotice } from '../../../web/navigation.ts';
import { describeAutoTopupProblem } from './autoTopup.tsx';

const BILLING_PATH = '/account/billing/';

async function findFailedPayment(account: Account): Promise<AreaNotice | null> {
  const { subscription_id: subscription, spendable_until: until } = account;
  if (subscription === null || until === null) return null;
  const { status } = await getSubscriptionOverview(account);
  if (status !== 'past_due') return null;
  return {
    kind: 'bad',
    text: `Your last payment failed. You can create generations until ${formatDateTime(until)} (UTC).`,
    action: { label: 'Update the payment method', href: `${BILLING_PATH}#subscription` },
  };
}

async function findStoppedAutoTopup({ auto_topup_problem: problem }: Account): Promise<AreaNotice | null> {
  if (problem === null) return null;
  return {
    kind: 'warn',
    text: `Automatic top-ups were switched off. ${describeAutoTopupProblem(problem)}`,
    action: { label: 'Switch them on again', href: `${BILLING_PATH}#auto-topup` },
  };
}

async function findLowCredits(account: Account): Promise<AreaNotice | null> {
  const isLow = account.balance < getLowCreditsThreshold(account);
  if (!isLow || account.auto_topup_enabled || getActivePlan(account) === null) return null;
  return {
    kind: 'warn',
    text: `Your balance is low: ${formatCount(account.balance, 'credit')}.`,
    action: { label: 'Buy credits', href: `${BILLING_PATH}#topup` },
  };
}

/** Trouble with payments and credits, worst first. */
export const BILLING_NOTICES: readonly FindNotice[] = [findFailedPayment, findStoppedAutoTopup, findLowCredits];
