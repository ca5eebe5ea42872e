import { getAccount } from '../../../../shared/domain/accounts/accounts.ts';
import { listActiveApiKeys } from '../../../../shared/domain/accounts/apiKeys.ts';
import { isStaff } from '../../../../shared/domain/accounts/staffRights.ts';
import { getBillingStatus } from '../../../../shared/domain/billing/billingStatus.ts';
import { type BillingStatus } from '../../../../shared/presenters/billingStatus.ts';
import { getUsageSummary } from '../../../../shared/domain/usage/usageSummary.ts';
import { listConnectedApplications } from '../../../../shared/domain/oauth/grants.ts';
import { requireCaller, type Context } from '../../../context.ts';
import { findOutcome, type Outcome, sendAccountAreaPage } from '../../../web/components/areaPage.tsx';
import { CreditsSection } from './credits.tsx';
import { GettingStarted } from './gettingStarted.tsx';

/** Outcomes by the code in the `checkout` parameter, with which the payment processor sends the browser back. */
const CHECKOUT_OUTCOMES = {
  success: ['Checkout completed', 'Thank you. Your plan and credits are updated when the payment is confirmed.'],
  canceled: ['Checkout canceled', 'Checkout canceled. You were not charged.'],
} as const;

const PAYMENT_PENDING: Outcome = [
  'Payment not confirmed yet',
  'Your payment is not confirmed yet. Some payment methods take a few days, so please do not pay again. Your plan or credits are added when the payment arrives.',
];

/**
 * Renders the overview: the first steps, credits and usage.
 * @param options.isPaymentPending true after a payment has been unconfirmed for some minutes.
 */
export async function renderOverviewPage(ctx: Context, { isPaymentPending = false } = {}): Promise<void> {
  const caller = requireCaller(ctx);
  const { accountId } = caller;
  const [account, usage, billing, keys, applications] = await Promise.all([
    getAccount(accountId),
    getUsageSummary(accountId),
    getBillingStatus(accountId),
    listActiveApiKeys(accountId),
    listConnectedApplications(accountId),
  ]);
  const children = (
    <>
      <p class="quiet">
        Signed in as {account.email}
        {(await isStaff(account, caller)) ? (
          <>
            . <a href="/admin/">Admin dashboard</a>
          </>
        ) : null}
      </p>
      <GettingStarted account={account} billing={billing} hasAccess={keys.length + applications.length > 0} />
      <CreditsSection account={account} billing={billing} usage={usage} />
    </>
  );
  const outcome = isPaymentPending ? PAYMENT_PENDING : findCheckoutOutcome(ctx.query['checkout'], billing);
  const heading = account.first_name === '' ? 'Account' : `Hello, ${account.first_name}`;
  sendAccountAreaPage(ctx, { current: '/account/', heading, outcome, title: outcome?.[0] ?? 'Account', children });
}

/** Finds the outcome of a checkout. Without a plan nothing was paid, whatever the address says. */
function findCheckoutOutcome(code: unknown, { plan }: BillingStatus): Outcome | undefined {
  return code === 'success' && plan === null ? undefined : findOutcome(CHECKOUT_OUTCOMES, code);
}
