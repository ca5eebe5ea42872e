import type { VNode } from 'preact';
import { getReferralUrl } from '../../../shared/domain/affiliates/enroll.ts';
import { processor } from '../../../shared/gateways/payments/index.ts';
import { COMMISSION_PENDING_DAYS, COMMISSION_PERCENT } from '../../../shared/spec/limits.ts';
import { Form } from '../components/form.tsx';
import type { AccountFormContext, AccountOverview } from './overview.ts';

/** Affiliate program: enrollment, or the link with its statistics and the payout setup. */
export function AffiliateSection({
  affiliate,
  formContext,
}: AccountOverview & { formContext: AccountFormContext }): VNode {
  return (
    <section class="card" aria-labelledby="affiliate">
      <h2 id="affiliate">Affiliate program</h2>
      {affiliate === null ? (
        <>
          <p>
            Earn {COMMISSION_PERCENT}% of every plan payment by customers who sign up through your link, for as long as
            they subscribe.
          </p>
          <Form action="/account/affiliate/" token={formContext.csrfToken}>
            <button type="submit">Become an affiliate</button>
          </Form>
        </>
      ) : (
        <AffiliateProgram affiliate={affiliate} token={formContext.csrfToken} />
      )}
    </section>
  );
}

function AffiliateProgram({
  affiliate,
  token,
}: {
  affiliate: NonNullable<AccountOverview['affiliate']>;
  token: string;
}): VNode {
  const { stats, clicks, isPayoutEnabled } = affiliate;
  return (
    <>
      <p>
        Your link: <code>{getReferralUrl(affiliate.affiliate)}</code>
      </p>
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
          Test mode: no payment processor is configured, so plans are free and commissions are not paid.
        </p>
      ) : (
        isPayoutEnabled && <p>Payouts are enabled.</p>
      )}
    </>
  );
}

function formatCount(count: number, noun: string): string {
  return `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`;
}

function formatUsd(cents: number): string {
  return (cents / 100).toLocaleString('en-US', { style: 'currency', currency: 'USD' });
}
