import type { Transaction } from 'objection';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import { randomCharacters } from '../../lib/secrets.ts';
import { DAY_MS, MINUTE_MS } from '../../spec/durations.ts';
import { REFERRAL_WINDOW_DAYS } from '../../spec/limits.ts';
import { Account } from '../../tables/Account.ts';
import { Affiliate } from '../../tables/Affiliate.ts';
import { Referral } from '../../tables/Referral.ts';
import { countReferralClick } from './referralClicks.ts';

export const REFERRAL_WINDOW_MS = REFERRAL_WINDOW_DAYS * DAY_MS;

/** A click on a referral link, as stored in the visitor's cookie. */
export interface ReferralClick {
  code: string;
  clickedAt: Date;
  /** The account that was signed in in that browser, if any. */
  signedInAccountId: number | null;
  /** Keyed hash of the browser's network, comparable within the referrals of one affiliate. */
  network: string | null;
}

/**
 * Records a click on a referral link.
 * @param accountId the account signed in in that browser, if any.
 * @returns the code to store in the visitor's cookie; null if it is unknown or the visitor's own.
 */
export async function recordReferralClick(text: string, accountId: number | null): Promise<string | null> {
  const code = parseReferralCode(text);
  const affiliate = code === null ? undefined : await Affiliate.query().findOne({ code }).whereNull('closed_at');
  if (affiliate === undefined || affiliate.account_id === accountId) return null;
  countReferralClick(affiliate.account_id).catch((err: unknown) => {
    logger.warn({ err, affiliateId: affiliate.account_id }, 'referral click not counted');
  });
  return affiliate.code;
}

/**
 * Finds the referrer of an account that is about to be created (docs/decisions.md: Affiliates): the link must have been
 * followed within 30 days, and must not be the customer's own.
 * @param within the transaction that creates the account, if it has started: taking a second connection could deadlock
 * the pool.
 * @returns the affiliate's account id, or null.
 */
export async function findReferrer(click: ReferralClick, email: string, within?: Transaction): Promise<number | null> {
  const earliest = addMilliseconds(now(), -REFERRAL_WINDOW_MS);
  if (click.clickedAt <= earliest || click.clickedAt > addMilliseconds(now(), CLOCK_SKEW_MS)) return null;
  const affiliate = await Affiliate.query(within).findOne({ code: click.code }).whereNull('closed_at');
  if (affiliate === undefined) return null;
  // A second account of the affiliate: created in a browser where the first is signed in, or with the same mailbox.
  if (affiliate.account_id === click.signedInAccountId) return null;
  const owner = await Account.query(within).findById(affiliate.account_id).throwIfNotFound();
  return normalizeEmail(owner.email) === normalizeEmail(email) ? null : affiliate.account_id;
}

/** The time of the click comes from another API process, whose clock may be ahead. */
const CLOCK_SKEW_MS = MINUTE_MS;

/** Returns the referral code as metadata of a checkout, to be shown with the payment in the processor's dashboard. */
export async function getReferralMetadata(accountId: number): Promise<Record<string, string>> {
  const referral = await Referral.query().findById(accountId);
  if (referral === undefined) return {};
  const { code } = await Affiliate.query().findById(referral.affiliate_id).throwIfNotFound();
  return { referral_code: code };
}

/** Returns the mailbox that an address delivers to: many providers ignore a plus and everything after it. */
export function normalizeEmail(email: string): string {
  const at = email.lastIndexOf('@');
  const [name, host] = [email.slice(0, at).toLowerCase(), email.slice(at + 1).toLowerCase()];
  const plain = name.split('+')[0] as string;
  const isGoogle = host === 'gmail.com' || host === 'googlemail.com';
  return isGoogle ? `${plain.replaceAll('.', '')}@gmail.com` : `${plain}@${host}`;
}

/** Without characters that are easily confused, and without vowels, so that codes do not form words. */
const CODE_ALPHABET = 'bcdfghjkmnpqrstvwxyz23456789';
const CODE_LENGTH = 12;

/** Generates a referral code of 12 characters, about 57 bits, which cannot be guessed. */
export function generateReferralCode(): string {
  return randomCharacters(CODE_ALPHABET, CODE_LENGTH);
}

/** Returns a typed or pasted code as it is stored; null if it is not a valid code. */
export function parseReferralCode(text: string): string | null {
  const code = text.toLowerCase();
  return /^[a-z0-9]{12}$/.test(code) ? code : null;
}
