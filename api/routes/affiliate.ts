import { onboardingLink } from '../../shared/domain/affiliates/connect.ts';
import { enroll as enrollAccount } from '../../shared/domain/affiliates/enroll.ts';
import { followLink } from '../../shared/domain/affiliates/referrals.ts';
import { affiliateStatus } from '../../shared/domain/affiliates/status.ts';
import { callerOf, type Context } from '../context.ts';
import { rememberLink } from '../middleware/referralCookie.ts';
import { seeOther } from '../pages/serve.ts';
import { presentAffiliate, presentAffiliateStatus } from '../presenters.ts';

/** Makes the account an affiliate, with a code that stays the same. */
export async function enroll(ctx: Context): Promise<void> {
  ctx.body = presentAffiliate(await enrollAccount(callerOf(ctx).accountId));
}

export async function status(ctx: Context): Promise<void> {
  ctx.body = presentAffiliateStatus(await affiliateStatus(callerOf(ctx).accountId));
}

export async function openOnboarding(ctx: Context): Promise<void> {
  ctx.body = { url: await onboardingLink(callerOf(ctx).accountId) };
}

/** A referral link: whoever follows it is remembered to have come by it, and goes on to sign in. */
export async function follow(ctx: Context): Promise<void> {
  const { code } = (ctx as unknown as { params: { code: string } }).params;
  const accountId = ctx.state.caller?.accountId ?? null;
  const followed = await followLink(code, accountId);
  if (followed !== null) rememberLink(ctx, followed);
  seeOther(ctx, accountId === null ? '/sign-in' : '/');
}
