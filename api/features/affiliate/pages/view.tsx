import type { VNode } from 'preact';
import { getAccount } from '../../../../shared/domain/accounts/accounts.ts';
import { type AffiliateOverview, getAffiliateOverview } from '../../../../shared/domain/affiliates/overview.ts';
import { listRecentCommissions, listRecentPayouts } from '../../../../shared/domain/affiliates/listEarnings.ts';
import { getReferralClickCount } from '../../../../shared/domain/affiliates/referralClicks.ts';
import { getReferralUrl } from '../../../../shared/domain/affiliates/enroll.ts';
import { processor } from '../../../../shared/gateways/payments/index.ts';
import { COMMISSION_PENDING_DAYS, COMMISSION_PERCENT } from '../../../../shared/spec/limits.ts';
import type { Commission } from '../../../../shared/tables/Commission.ts';
import type { Payout } from '../../../../shared/tables/Payout.ts';
import { requireCaller, type Context } from '../../../context.ts';
import { createCsrfToken } from '../../../pipeline/csrf.ts';
import { type Outcomes, type PageProblem, sendAccountAreaPage } from '../../../web/components/areaPage.tsx';
import { BarChart } from '../../../web/components/charts.tsx';
import { CopyText } from '../../../web/components/copyText.tsx';
import { Form } from '../../../web/components/form.tsx';
import { formatCount, formatNumber, formatUsd } from '../../../web/components/formatAmount.ts';
import { CommissionsSection, PayoutsSection } from './earnings.tsx';

export const AFFILIATE_PATH = '/account/affiliate/';

const OUTCOMES = {
  enrolled: ['Affiliate link created', 'You are now an affiliate. Your link is below.'],
  payouts: ['Payout details submitted', 'Thank you. Payouts start after your details have been verified.'],
} as const satisfies Outcomes;

export type AffiliateOutcome = keyof typeof OUTCOMES;

type AffiliateFigures = AffiliateOverview & { clicks: number; commissions: Commission[]; payouts: Payout[] };

async function readAffiliateFigures(accountId: number): Promise<AffiliateFigures> {
  const [overview, clicks, commissions, payouts] = await Promise.all([
    getAffiliateOverview(accountId),
    getReferralClickCount(accountId),
    listRecentCommissions(accountId),
    listRecentPayouts(accountId),
  ]);
  return { ...overview, clicks, commissions, payouts };
}

/** Renders the affiliate program: enrollment, or the link with its figures and the payout setup. */
export async function renderAffiliatePage(ctx: Context, flash: PageProblem = {}, status = 200): Promise<void> {
  const { accountId } = requireCaller(ctx);
  const { is_affiliate: isAffiliate } = await getAccount(accountId);
  const token = createCsrfToken(ctx);
  const children = isAffiliate ? (
    <AffiliateProgram affiliate={await readAffiliateFigures(accountId)} token={token} />
  ) : (
    <Enrollment token={token} />
  );
  await sendAccountAreaPage(
    ctx,
    { current: AFFILIATE_PATH, heading: 'Affiliate program', outcomes: OUTCOMES, ...flash, children },
    status,
  );
}

function Enrollment({ token }: { token: string }): VNode {
  return (
    <section class="card" aria-label="Enrollment">
      <p>
        Earn {COMMISSION_PERCENT}% of every plan payment by customers who sign up through your link, for as long as they
        subscribe.
      </p>
      <Form action={AFFILIATE_PATH} token={token}>
        <button type="submit" class="main">
          Become an affiliate
        </button>
      </Form>
    </section>
  );
}

function AffiliateProgram({ affiliate, token }: { affiliate: AffiliateFigures; token: string }): VNode {
  const { stats, clicks, isPayoutEnabled, recent, commissions, payouts } = affiliate;
  return (
    <>
      <section class="card" aria-label="Link and earnings">
        <p>Your link:</p>
        <CopyText id="referral-link" text={getReferralUrl(affiliate.affiliate)} label="the link" />
        <p>
          {formatCount(clicks, 'click')}, {formatCount(stats.referrals, 'sign-up')}, {stats.active} with an active plan.
        </p>
        <p>
          Earned: {formatUsd(stats.lifetimeEarningsCents)}. Paid: {formatUsd(stats.paidCents)}. Pending:{' '}
          {formatUsd(stats.pendingCents)}.
        </p>
        <p class="hint">
          A commission becomes payable {COMMISSION_PENDING_DAYS} days after the customer's payment. Payouts run at the
          beginning of each month. Refunded payments are deducted.
        </p>
        {!isPayoutEnabled && (
          <Form action="/account/payouts/" token={token}>
            <button type="submit" class="main">
              {affiliate.affiliate.connect_account_id === null ? 'Set up payouts' : 'Continue payout setup'}
            </button>
          </Form>
        )}
        {processor.isSimulated ? (
          <p class="hint">
            No payment processor is configured (development), so plans are free and commissions are not paid.
          </p>
        ) : (
          isPayoutEnabled && <p>Payouts are enabled.</p>
        )}
      </section>
      <section class="card" aria-labelledby="months">
        <h2 id="months">Commission by month</h2>
        <BarChart
          title="Commission by month"
          bars={recent.map(({ month, commissionCents }) => ({ label: month, value: commissionCents }))}
          format={formatUsd}
          empty="None in the last 12 months. Share your link to earn commissions."
        />
      </section>
      <section class="card" aria-labelledby="sign-ups">
        <h2 id="sign-ups">Sign-ups by month</h2>
        <BarChart
          title="Sign-ups by month"
          bars={recent.map(({ month, referrals }) => ({ label: month, value: referrals }))}
          format={formatNumber}
          kind="second"
          empty="None in the last 12 months."
        />
      </section>
      <CommissionsSection commissions={commissions} />
      <PayoutsSection payouts={payouts} />
    </>
  );
}
