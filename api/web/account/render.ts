import { getAccount } from '../../../shared/domain/accounts/accounts.ts';
import { listActiveApiKeys } from '../../../shared/domain/accounts/apiKeys.ts';
import { listIdentities } from '../../../shared/domain/accounts/identities.ts';
import { listActiveSessions } from '../../../shared/domain/accounts/sessions.ts';
import { isStaff } from '../../../shared/domain/accounts/staff.ts';
import { getAffiliateOverview } from '../../../shared/domain/affiliates/overview.ts';
import { getReferralClickCount } from '../../../shared/domain/affiliates/referralClicks.ts';
import { getBillingStatus } from '../../../shared/domain/billing/billingStatus.ts';
import { getUsageSummary } from '../../../shared/domain/credits/usage.ts';
import { listConnectedApplications } from '../../../shared/domain/oauth/grants.ts';
import { requireCaller, type Context } from '../../context.ts';
import { seeOther } from '../../pipeline/redirect.ts';
import { showErrorsOn } from '../components/showErrorsOn.ts';
import type { AccountOverview } from './overview.ts';
import { type Flash, type FlashCode, sendAccountPage } from './view.tsx';

/** Renders the account page with its current data. */
export async function renderAccountPage(ctx: Context, flash: Flash = {}, status = 200): Promise<void> {
  const { accountId } = requireCaller(ctx);
  const [account, usage, billing, identities, keys, applications, sessions] = await Promise.all([
    getAccount(accountId),
    getUsageSummary(accountId),
    getBillingStatus(accountId),
    listIdentities(accountId),
    listActiveApiKeys(accountId),
    listConnectedApplications(accountId),
    listActiveSessions(accountId, ctx.state.sessionToken as string),
  ]);
  const affiliate = account.is_affiliate
    ? { ...(await getAffiliateOverview(accountId)), clicks: await getReferralClickCount(accountId) }
    : null;
  const isStaffSession = await isStaff(account, requireCaller(ctx), ctx.state.sessionToken);
  const overview: AccountOverview = {
    account,
    usage,
    isStaff: isStaffSession,
    billing,
    identities,
    keys,
    applications,
    sessions,
    affiliate,
  };
  sendAccountPage(ctx, overview, flash, status);
}

/** Redirects to the account page, which shows the outcome. */
export function redirectWithFlash(ctx: Context, code: FlashCode): void {
  seeOther(ctx, `/account/?done=${code}`);
}

/** Wraps the handler of a form: a service error is shown on the account page. */
export const withErrorPage = showErrorsOn(renderAccountPage);
