import { type ReferralClick, REFERRAL_WINDOW_MS } from '../../../shared/domain/affiliates/referrals.ts';
import { now } from '../../../shared/lib/clock.ts';
import type { Context } from '../../context.ts';
import { isHttps } from './sessionCookie.ts';

const REFERRAL_COOKIE = 'referral';

/**
 * Has the browser remember for 30 days which referral link it came by, in the place of any before. The moment stands in
 * it, too: browsers do not always forget when they should. Nobody gains by writing one themselves: whoever opens the
 * link gets the same.
 */
export function setReferralCookie(ctx: Context, code: string): void {
  ctx.cookies.secure = isHttps();
  ctx.cookies.set(REFERRAL_COOKIE, `${code}.${Math.floor(now().getTime() / 1_000)}`, {
    httpOnly: true,
    sameSite: 'lax',
    path: '/',
    overwrite: true,
    secure: isHttps(),
    maxAge: REFERRAL_WINDOW_MS,
  });
}

/** The referral link that the browser came by, or null. @param signedInAs who is signed in in it. */
export function readReferralCookie(ctx: Context, signedInAs: number | null): ReferralClick | null {
  const [, code, seconds] = /^([a-z0-9]{12})\.(\d{1,11})$/.exec(ctx.cookies.get(REFERRAL_COOKIE) ?? '') ?? [];
  if (code === undefined || seconds === undefined) return null;
  return { code, clickedAt: new Date(1_000 * Number(seconds)), signedInAccountId: signedInAs };
}
