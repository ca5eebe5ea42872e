import { enrollAffiliate } from '../../../../shared/domain/affiliates/enroll.ts';
import {
  createPayoutOnboardingLink,
  refreshPayoutOnboardingLink,
  syncPayoutAccount,
} from '../../../../shared/domain/affiliates/payoutAccounts.ts';
import { config } from '../../../../shared/lib/config.ts';
import { requireCaller, type Context } from '../../../context.ts';
import { seeOther } from '../../../pipeline/redirect.ts';
import { sendRedirectPage } from '../../../web/components/redirectPage.tsx';
import { showErrorsOn } from '../../../web/components/showErrorsOn.ts';
import { t } from '../../../web/texts.ts';
import { AFFILIATE_PATH, type AffiliateOutcome, renderAffiliatePage } from './view.tsx';

const withAffiliateErrors = showErrorsOn(renderAffiliatePage);

export const becomeAffiliate = withAffiliateErrors(async (ctx) => {
  await enrollAffiliate(requireCaller(ctx));
  redirectWithOutcome(ctx, 'enrolled');
});

/** Sends the affiliate to the onboarding form of the payment processor. */
export const startPayoutSetup = withAffiliateErrors(async (ctx) => {
  const url = await createPayoutOnboardingLink(requireCaller(ctx));
  // Simulated payments have no onboarding form.
  if (new URL(url).origin === new URL(config.BASE_URL).origin) return redirectWithOutcome(ctx, 'payouts');
  sendRedirectPage(ctx, url, t.redirectToProcessor());
});

/** Reopens the onboarding form after its link has expired. Other sites may link here, so it creates no account. */
export const restartPayoutSetup = withAffiliateErrors(async (ctx) => {
  const url = await refreshPayoutOnboardingLink(requireCaller(ctx).accountId);
  if (url === null) return seeOther(ctx, AFFILIATE_PATH);
  sendRedirectPage(ctx, url, t.redirectToProcessor());
});

/**
 * Handles the return from the onboarding form, and syncs the payout account at once. The form may not be complete, and
 * other sites may link here.
 */
export const completePayoutSetup = withAffiliateErrors(async (ctx) => {
  const { connect_onboarded: isOnboarded } = await syncPayoutAccount(requireCaller(ctx).accountId);
  if (isOnboarded) redirectWithOutcome(ctx, 'payouts');
  else seeOther(ctx, AFFILIATE_PATH);
});

function redirectWithOutcome(ctx: Context, outcome: AffiliateOutcome): void {
  seeOther(ctx, `${AFFILIATE_PATH}?done=${outcome}`);
}
