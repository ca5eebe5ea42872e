import { formatUsdCents } from './labels.ts';
import { percent } from './report.ts';

/** Activity of an affiliate in one period. */
export interface AffiliateActivity {
  affiliate_id: number;
  clicks: number;
  referrals: number;
  /** Most referrals with the same network, and with the same email domain of its own. */
  same_network: number;
  same_domain: number;
  /** Referrals at the email domain of the affiliate. */
  own_domain: number;
  suspended: number;
  invoices: number;
  reversed_invoices: number;
  commission_cents: number;
}

/** A rule that marks an affiliate for review. Nothing follows from it automatically. */
export interface AffiliateSignal {
  /** The rule with its threshold, as the page states it. */
  rule: string;
  /** @returns what was found, or null. */
  find: (activity: AffiliateActivity, allCommissionCents: number) => string | null;
}

const SAME_NETWORK_MIN = 3;
const SAME_DOMAIN_MIN = 5;
const OWN_DOMAIN_MIN = 2;
const SUSPENDED_MIN = 2;
const REVERSED_MIN = 2;
const BAD_SHARE_PERCENT = 25;
const COMMISSION_SHARE_PERCENT = 50;
const COMMISSION_SHARE_MIN_CENTS = 50_000;
const CONVERSION_PERCENT = 50;
const CONVERSION_MIN_REFERRALS = 10;

/**
 * Mail providers at which anyone can open a mailbox: a shared domain says nothing there. Others are the domain of one
 * company or person.
 */
export const PUBLIC_MAIL_DOMAINS: readonly string[] = [
  'gmail.com',
  'googlemail.com',
  'outlook.com',
  'hotmail.com',
  'live.com',
  'msn.com',
  'yahoo.com',
  'icloud.com',
  'me.com',
  'mac.com',
  'privaterelay.appleid.com',
  'users.noreply.github.com',
  'proton.me',
  'protonmail.com',
  'aol.com',
  'gmx.com',
  'gmx.de',
  'gmx.net',
  'web.de',
  'mail.com',
  'mail.ru',
  'yandex.ru',
  'qq.com',
  '163.com',
  'fastmail.com',
  'zoho.com',
];

export const AFFILIATE_SIGNALS: readonly AffiliateSignal[] = [
  {
    rule: `At least ${SAME_NETWORK_MIN} referred accounts signed up from one network (an IPv4 address or an IPv6 /64).`,
    find: ({ same_network: count }) => (count >= SAME_NETWORK_MIN ? `${count} sign-ups from one network` : null),
  },
  {
    rule: `At least ${SAME_DOMAIN_MIN} referred accounts share an email domain that is not a public mail provider.`,
    find: ({ same_domain: count }) => (count >= SAME_DOMAIN_MIN ? `${count} sign-ups at one email domain` : null),
  },
  {
    rule: `At least ${OWN_DOMAIN_MIN} referred accounts have the affiliate's own email domain, if that is not a public mail provider.`,
    find: ({ own_domain: count }) => (count >= OWN_DOMAIN_MIN ? `${count} sign-ups at its own email domain` : null),
  },
  {
    rule: `At least ${SUSPENDED_MIN} referred accounts, and ${BAD_SHARE_PERCENT} % of them, are suspended.`,
    find: ({ suspended, referrals }) =>
      suspended >= SUSPENDED_MIN && isShare(suspended, referrals, BAD_SHARE_PERCENT)
        ? `${suspended} of ${referrals} referred accounts suspended`
        : null,
  },
  {
    rule: `At least ${REVERSED_MIN} invoices of referred accounts that were paid in the range, and ${BAD_SHARE_PERCENT} % of them, were refunded or disputed.`,
    find: ({ reversed_invoices: reversed, invoices }) =>
      reversed >= REVERSED_MIN && isShare(reversed, invoices, BAD_SHARE_PERCENT)
        ? `${reversed} of ${invoices} invoices refunded or disputed`
        : null,
  },
  {
    rule: `Commissions of at least ${formatUsdCents(COMMISSION_SHARE_MIN_CENTS)} that are ${COMMISSION_SHARE_PERCENT} % or more of all commissions.`,
    find: ({ commission_cents: cents }, all) =>
      cents >= COMMISSION_SHARE_MIN_CENTS && isShare(cents, all, COMMISSION_SHARE_PERCENT)
        ? `${percent(cents, all)} % of all commissions`
        : null,
  },
  {
    rule: `At least ${CONVERSION_MIN_REFERRALS} referrals from so few clicks that ${CONVERSION_PERCENT} % or more of the clicks led to a sign-up.`,
    find: ({ referrals, clicks }) =>
      referrals >= CONVERSION_MIN_REFERRALS && isShare(referrals, clicks, CONVERSION_PERCENT)
        ? `${referrals} sign-ups from ${clicks} clicks`
        : null,
  },
];

function isShare(part: number, whole: number, minPercent: number): boolean {
  return 100 * part >= minPercent * whole;
}
