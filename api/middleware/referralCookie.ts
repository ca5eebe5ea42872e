import { type FollowedLink, REFERRAL_MS } from '../../shared/domain/affiliates/referrals.ts';
import { now } from '../../shared/lib/clock.ts';
import type { Context } from '../context.ts';
import { isSecure } from './sessionCookie.ts';

const COOKIE = 'referral';

/**
 * Has the browser remember for 30 days which referral link it came by, in the place of any before. The moment stands in
 * it, too: browsers do not always forget when they should. Nobody gains by writing one themselves: whoever opens the
 * link gets the same.
 */
export function rememberLink(ctx: Context, code: string): void {
  ctx.cookies.secure = isSecure();
  ctx.cookies.set(COOKIE, `${code}.${Math.floor(now().getTime() / 1_000)}`, {
    httpOnly: true,
    sameSite: 'lax',
    path: '/',
    overwrite: true,
    secure: isSecure(),
    maxAge: REFERRAL_MS,
  });
}

/** The referral link that the browser came by, or null. @param signedInAs who is signed in in it. */
export function followedLink(ctx: Context, signedInAs: number | null): FollowedLink | null {
  const [, code, seconds] = /^([a-z0-9]{12})\.(\d{1,11})$/.exec(ctx.cookies.get(COOKIE) ?? '') ?? [];
  if (code === undefined || seconds === undefined) return null;
  return { code, followedAt: new Date(1_000 * Number(seconds)), signedInAs };
}
