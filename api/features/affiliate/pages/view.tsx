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
import { type Outcomes, type PageProblem, sendAccountAreaPage } from '../../../web/components/areaPage.tsx';
import { BarChart } from '../../../web/components/charts.tsx';
import { CopyText } from '../../../web/components/copyText.tsx';
import { Fact } from '../../../web/components/fact.tsx';
import { Form } from '../../../web/components/form.tsx';
import { formatNumber, formatUsd } from '../../../web/components/formatAmount.ts';
import { Section } from '../../../web/components/section.tsx';
import { CommissionsSection, PayoutsSection } from './earnings.tsx';
import { t } from './texts.ts';

export const AFFILIATE_PATH = '/account/affiliate/';

const OUTCOMES = {
  enrolled: t.linkCreated,
  payouts: t.payoutsSubmitted,
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
  const children = isAffiliate ? (
    <AffiliateProgram affiliate={await readAffiliateFigures(accountId)} />
  ) : (
    <Enrollment />
  );
  await sendAccountAreaPage(
    ctx,
    { current: AFFILIATE_PATH, heading: t.affiliateProgram(), outcomes: OUTCOMES, ...flash, children },
    status,
  );
}

function Enrollment(): VNode {
  return (
    <section class="card" aria-label={t.enrollment()}>
      <p>{t.earn({ percent: COMMISSION_PERCENT })}</p>
      <Form action={AFFILIATE_PATH}>
        <button type="submit" class="main">
          {t.becomeAffiliate()}
        </button>
      </Form>
    </section>
  );
}

function AffiliateProgram({ affiliate }: { affiliate: AffiliateFigures }): VNode {
  const { stats, clicks, isPayoutEnabled, recent, commissions, payouts } = affiliate;
  return (
    <>
      <section class="card" aria-label={t.linkAndEarnings()}>
        <p>{t.yourLink()}</p>
        <CopyText id="referral-link" text={getReferralUrl(affiliate.affiliate)} label={t.theLink()} />
        <p>{t.counts({ clicks, signUps: stats.referrals, active: stats.active })}</p>
        <div class="facts apart">
          <Fact title={t.earned()} value={formatUsd(stats.lifetime_earnings_cents)} />
          <Fact title={t.paidOut()} value={formatUsd(stats.paid_cents)} />
          <Fact title={t.notPaidOut()} value={formatUsd(stats.pending_cents)} />
        </div>
        <p class="hint apart">{t.rules({ days: COMMISSION_PENDING_DAYS })}</p>
        {!isPayoutEnabled && (
          <Form action="/account/payouts/">
            <button type="submit" class="main">
              {affiliate.affiliate.connect_account_id === null ? t.setUpPayouts() : t.continueSetup()}
            </button>
          </Form>
        )}
        {processor.isSimulated ? <p class="hint">{t.simulated()}</p> : isPayoutEnabled && <p>{t.payoutsEnabled()}</p>}
      </section>
      <div class="columns">
        <Section id="months" title={t.commissionByMonth()}>
          <BarChart
            title={t.commissionByMonth()}
            bars={recent.map(({ month, commission_cents: cents }) => ({ label: month, value: cents }))}
            format={formatUsd}
            empty={t.noCommissions()}
          />
        </Section>
        <Section id="sign-ups" title={t.signUpsByMonth()}>
          <BarChart
            title={t.signUpsByMonth()}
            bars={recent.map(({ month, referrals }) => ({ label: month, value: referrals }))}
            format={formatNumber}
            kind="second"
            empty={t.noSignUps()}
          />
        </Section>
        <CommissionsSection commissions={commissions} />
        <PayoutsSection payouts={payouts} />
      </div>
    </>
  );
}
