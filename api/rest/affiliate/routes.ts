import { createPayoutOnboardingLink } from '../../../shared/domain/affiliates/payoutAccounts.ts';
import { enrollAffiliate } from '../../../shared/domain/affiliates/enroll.ts';
import { recordReferralClick } from '../../../shared/domain/affiliates/referrals.ts';
import { getAffiliateOverview } from '../../../shared/domain/affiliates/overview.ts';
import { requireCaller, type Context } from '../../context.ts';
import { setReferralCookie } from '../../pipeline/cookies/referralCookie.ts';
import { seeOther } from '../../pipeline/redirect.ts';
import { presentAffiliate, presentAffiliateStatus } from './presenter.ts';

/** Enrolls the account as an affiliate. The referral code never changes. */
export async function enroll(ctx: Context): Promise<void> {
  ctx.body = presentAffiliate(await enrollAffiliate(requireCaller(ctx).accountId));
}

export async function status(ctx: Context): Promise<void> {
  ctx.body = presentAffiliateStatus(await getAffiliateOverview(requireCaller(ctx).accountId));
}

export async function createOnboardingLink(ctx: Context): Promise<void> {
  ctx.body = { url: await createPayoutOnboardingLink(requireCaller(ctx).accountId) };
}

/** Records a click on a referral link and redirects to sign-in. */
export async function openReferralLink(ctx: Context): Promise<void> {
  const { code } = (ctx as unknown as { params: { code: string } }).params;
  const accountId = ctx.state.caller?.accountId ?? null;
  const click = await recordReferralClick(code, accountId);
  if (click !== null) setReferralCookie(ctx, click);
  seeOther(ctx, accountId === null ? '/sign-in' : '/');
}
