import type { Transaction } from 'objection';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import { REFERRAL_WINDOW_DAYS } from '../../spec/limits.ts';
import { Account } from '../../tables/Account.ts';
import { Affiliate } from '../../tables/Affiliate.ts';
import { Referral } from '../../tables/Referral.ts';
import { countReferralClick } from './referralClicks.ts';
import { parseReferralCode } from './referralCodes.ts';
import { normalizeEmail } from './normalizeEmail.ts';

export const REFERRAL_WINDOW_MS = REFERRAL_WINDOW_DAYS * 86_400_000;

/** The link that somebody came by, as their browser remembers it. */
export interface ReferralClick {
  code: string;
  clickedAt: Date;
  /** Who is signed in in that browser, if anybody is. */
  signedInAccountId: number | null;
}

/**
 * Notes that a referral link was followed.
 * @param accountId who is signed in in that browser, if anybody is.
 * @returns the code that the browser is to remember; null where it is nobody's, or the visitor's own.
 */
export async function recordReferralClick(text: string, accountId: number | null): Promise<string | null> {
  const code = parseReferralCode(text);
  const affiliate = code === null ? undefined : await Affiliate.query().findOne({ code });
  if (affiliate === undefined || affiliate.account_id === accountId) return null;
  countReferralClick(affiliate.account_id).catch((error: unknown) => {
    logger.warn({ error: (error as Error).message }, 'a click was not counted');
  });
  return affiliate.code;
}

/**
 * Who brought somebody who is about to be made an account of (docs/decisions.md: Affiliates): the link must have been
 * followed within 30 days, and must not be their own.
 * @param within the transaction that the account is made in, if there is one already: a second connection, asked for by
 * many at once, would be waited for for ever.
 * @returns the affiliate's account, or null.
 */
export async function findReferrer(click: ReferralClick, email: string, within?: Transaction): Promise<number | null> {
  const earliest = addMilliseconds(now(), -REFERRAL_WINDOW_MS);
  if (click.clickedAt <= earliest || click.clickedAt > addMilliseconds(now(), CLOCK_SKEW_MS)) return null;
  const affiliate = await Affiliate.query(within).findOne({ code: click.code });
  if (affiliate === undefined) return null;
  // An affiliate who makes a second account, in the browser where the first is signed in or with the same mailbox.
  if (affiliate.account_id === click.signedInAccountId) return null;
  const owner = await Account.query(within).findById(affiliate.account_id).throwIfNotFound();
  return normalizeEmail(owner.email) === normalizeEmail(email) ? null : affiliate.account_id;
}

/** The moment comes from another web process, whose clock may be ahead. */
const CLOCK_SKEW_MS = 60_000;

/** What checkout pages are told about who brought the customer, for whoever looks at the payment. */
export async function getReferralMetadata(accountId: number): Promise<Record<string, string>> {
  const referral = await Referral.query().findById(accountId);
  if (referral === undefined) return {};
  const { code } = await Affiliate.query().findById(referral.affiliate_id).throwIfNotFound();
  return { referral_code: code };
}
