import { createHmac } from 'node:crypto';
import { type ReferralClick, REFERRAL_WINDOW_MS } from '../../../shared/domain/affiliates/referrals.ts';
import { now } from '../../../shared/lib/clock.ts';
import { getServerSecret } from '../../../shared/lib/serverSecret.ts';
import type { Context } from '../../context.ts';
import { networkPrefix } from '../networkPrefix.ts';
import { setCookie } from './setCookie.ts';

const REFERRAL_COOKIE = 'referral';

/** Enough to compare the networks of one affiliate's referrals, which is the only use of the hash. */
const NETWORK_HASH_CHARACTERS = 16;

/**
 * Stores the referral code in the browser for 30 days and replaces an earlier one. The cookie contains the time of the
 * click, because browsers do not always expire cookies on time. It needs no signature: opening the link has the same
 * effect as forging the cookie.
 */
export function setReferralCookie(ctx: Context, code: string): void {
  const value = `${code}.${Math.floor(now().getTime() / 1_000)}`;
  setCookie(ctx, REFERRAL_COOKIE, value, { maxAge: REFERRAL_WINDOW_MS });
}

/** Reads the referral click of the browser, or null. @param signedInAccountId the account of the current session. */
export function readReferralCookie(ctx: Context, signedInAccountId: number | null): ReferralClick | null {
  const [, code, seconds] = /^([a-z0-9]{12})\.(\d{1,11})$/.exec(ctx.cookies.get(REFERRAL_COOKIE) ?? '') ?? [];
  if (code === undefined || seconds === undefined) return null;
  const network = hashNetwork(networkPrefix(ctx.ip), code);
  return { code, clickedAt: new Date(1_000 * Number(seconds)), signedInAccountId, network };
}

/**
 * Hashes a network under the secret of the server and the code of the affiliate, so that addresses cannot be tested
 * against the database, and referrals of different affiliates cannot be compared.
 */
function hashNetwork(network: string, code: string): string {
  const hmac = createHmac('sha256', getServerSecret()).update(`referral ${code} ${network}`);
  return hmac.digest('hex').slice(0, NETWORK_HASH_CHARACTERS);
}
