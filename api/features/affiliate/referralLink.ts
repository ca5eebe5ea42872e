import { recordReferralClick } from '../../../shared/domain/affiliates/referrals.ts';
import type { Context } from '../../context.ts';
import { getPathParam } from '../../pipeline/requestParameters.ts';
import { setReferralCookie } from '../../pipeline/cookies/referralCookie.ts';
import { seeOther } from '../../pipeline/redirect.ts';

/** Records a click on a referral link and redirects to sign-in. */
export async function openReferralLink(ctx: Context): Promise<void> {
  const code = getPathParam(ctx, 'code');
  const accountId = ctx.state.caller?.accountId ?? null;
  const click = await recordReferralClick(code, accountId);
  if (click !== null) setReferralCookie(ctx, click);
  seeOther(ctx, accountId === null ? '/sign-in' : '/');
}
