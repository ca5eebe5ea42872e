import { getSubscriptionOverview } from '../../../../shared/domain/billing/billingStatus.ts';
import { getActivePlan } from '../../../../shared/domain/credits/entitlement.ts';
import { getLowCreditsThreshold } from '../../../../shared/domain/credits/lowCredits.ts';
import type { Account } from '../../../../shared/tables/Account.ts';
import { Time } from '../../../web/components/time.tsx';
import type { AreaNotice, NoticeSource } from '../../../web/navigation.ts';
import { describeAutoTopupProblem } from './autoTopup.tsx';
import { NOTICES as t, TOPUP } from './texts.ts';

const BILLING_PATH = '/account/billing/';

async function findFailedPayment(account: Account): Promise<AreaNotice | null> {
  const { subscription_id: subscription, spendable_until: until } = account;
  if (subscription === null || until === null) return null;
  const { status } = await getSubscriptionOverview(account);
  if (status !== 'past_due') return null;
  return {
    kind: 'bad',
    text: t.paymentFailed({ time: () => <Time at={until} /> }),
    action: { label: t.updateMethod(), href: `${BILLING_PATH}#subscription` },
  };
}

async function findStoppedAutoTopup({ auto_topup_problem: problem }: Account): Promise<AreaNotice | null> {
  if (problem === null) return null;
  return {
    kind: 'warn',
    text: describeAutoTopupProblem(problem),
    action: { label: t.switchOnAgain(), href: `${BILLING_PATH}#auto-topup` },
  };
}

async function findLowCredits(account: Account): Promise<AreaNotice | null> {
  const isLow = account.balance < getLowCreditsThreshold(account);
  if (!isLow || account.auto_topup_enabled || getActivePlan(account) === null) return null;
  return {
    kind: 'warn',
    text: t.lowBalance({ credits: account.balance }),
    action: { label: TOPUP.buyCredits(), href: `${BILLING_PATH}#topup` },
  };
}

/** Trouble with payments and credits, worst first. */
export const BILLING_NOTICES: readonly NoticeSource[] = [findFailedPayment, findStoppedAutoTopup, findLowCredits].map(
  (find) => ({ needs: 'manageBilling', find }),
);
