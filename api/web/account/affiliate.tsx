import type { VNode } from 'preact';
import { getReferralUrl } from '../../../shared/domain/affiliates/enroll.ts';
import { processor } from '../../../shared/gateways/payments/index.ts';
import { COMMISSION_PENDING_DAYS, COMMISSION_PERCENT } from '../../../shared/spec/limits.ts';
import { Form } from '../components/form.tsx';
import type { AccountFormContext, AccountOverview } from './overview.ts';

/** The affiliate program: a way in, and for who is in it the link, what it has brought, and the way to the money. */
export function AffiliateSection({ affiliate, secrets }: AccountOverview & { secrets: AccountFormContext }): VNode {
  return (
    <section class="card" aria-labelledby="affiliate">
      <h2 id="affiliate">Recommend us</h2>
      {affiliate === null ? (
        <>
          <p>
            Become an affiliate, and earn {COMMISSION_PERCENT} % of what everybody pays for their plan who signs up
            through your link, for as long as they stay.
          </p>
          <Form action="/account/affiliate/" token={secrets.csrfToken}>
            <button type="submit">Get your link</button>
          </Form>
        </>
      ) : (
        <AffiliateProgram affiliate={affiliate} token={secrets.csrfToken} />
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
        {formatCount(clicks, 'click')}, {formatCount(stats.referrals, 'sign-up')}, {stats.active} of them with a plan
        now.
      </p>
      <p>
        Earned: {formatUsd(stats.lifetimeEarningsCents)}. Paid: {formatUsd(stats.paidCents)}. Pending:{' '}
        {formatUsd(stats.pendingCents)}.
      </p>
      <p class="hint">
        Earnings can be paid {COMMISSION_PENDING_DAYS} days after the payment that they come from, at the beginning of
        the next month. What is refunded is taken off.
      </p>
      {!isPayoutEnabled && (
        <Form action="/account/payouts/" token={token}>
          <button type="submit" class="main">
            {affiliate.affiliate.connect_account_id === null ? 'Set up payouts' : 'Go on setting up payouts'}
          </button>
        </Form>
      )}
      {processor.isSimulated ? (
        <p class="hint">
          On this service plans are given away, as no payment processor is configured, and so commissions are never
          paid.
        </p>
      ) : (
        isPayoutEnabled && <p>Payouts are on.</p>
      )}
    </>
  );
}

function formatCount(count: number, what: string): string {
  return `${count.toLocaleString('en-GB')} ${what}${count === 1 ? '' : 's'}`;
}

function formatUsd(cents: number): string {
  return (cents / 100).toLocaleString('en-US', { style: 'currency', currency: 'USD' });
}
