import { formatUtcDay } from '../../lib/calendar.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { formatUsdCents } from './labels.ts';
import {
  compareRows,
  type ComputedMeasure,
  percent,
  type PeriodRow,
  type ReportDefinition,
  type ReportRange,
  type ReportTable,
  selectPeriod,
  sumBy,
  measureSum,
} from './report.ts';

/** Activity of an affiliate in one period. */
interface AffiliateActivity {
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
interface AffiliateSignal {
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
const PUBLIC_MAIL_DOMAINS: readonly string[] = [
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

const AFFILIATE_SIGNALS: readonly AffiliateSignal[] = [
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

interface ActivityRow extends AffiliateActivity, PeriodRow {
  uuid: string;
  code: string;
}

/** Affiliates that the page lists, those with the most signals first. */
const LISTED_AFFILIATES = 100;

/**
 * Activity of each affiliate by period. Referrals and commissions are found by their time; clicks and accounts by their
 * keys. The email domain of an erased account is left out, as it is the same for all of them.
 */
const READ_ACTIVITY = prepared(
  'read_affiliate_activity',
  `WITH referred AS MATERIALIZED (
     SELECT r.affiliate_id, r.created_at >= :since AS is_current, r.network, a.suspended_at IS NOT NULL AS is_suspended,
            CASE WHEN a.erased_at IS NULL AND a.domain <> ALL (cast(:publicDomains AS text[])) THEN a.domain END AS domain,
            split_part(owner.email, '@', 2) AS own_domain
       FROM referrals r
      CROSS JOIN LATERAL (SELECT suspended_at, erased_at, split_part(email, '@', 2) AS domain
                            FROM accounts WHERE id = r.account_id LIMIT 1) a
      CROSS JOIN LATERAL (SELECT email FROM accounts WHERE id = r.affiliate_id LIMIT 1) owner
      WHERE r.created_at >= :previousSince AND r.created_at < :until
   ), signups AS (
     SELECT affiliate_id, is_current, cast(count(*) AS int) AS referrals,
            cast(count(*) FILTER (WHERE is_suspended) AS int) AS suspended,
            cast(count(*) FILTER (WHERE domain = own_domain) AS int) AS own_domain
       FROM referred GROUP BY 1, 2
   ), networks AS (
     SELECT affiliate_id, is_current, cast(max(count) AS int) AS same_network
       FROM (SELECT affiliate_id, is_current, count(*) FROM referred WHERE network IS NOT NULL GROUP BY 1, 2, network) n
      GROUP BY 1, 2
   ), domains AS (
     SELECT affiliate_id, is_current, cast(max(count) AS int) AS same_domain
       FROM (SELECT affiliate_id, is_current, count(*) FROM referred WHERE domain IS NOT NULL GROUP BY 1, 2, domain) d
      GROUP BY 1, 2
   ), earned AS (
     SELECT affiliate_id, paid_at >= :since AS is_current, cast(count(*) AS int) AS invoices,
            cast(count(*) FILTER (WHERE reversed_cents > 0) AS int) AS reversed_invoices,
            cast(sum(amount_cents) AS float8) AS commission_cents
       FROM commissions WHERE paid_at >= :previousSince AND paid_at < :until GROUP BY 1, 2
   ), active AS (
     SELECT *
       FROM signups
       FULL JOIN earned USING (affiliate_id, is_current)
       LEFT JOIN networks USING (affiliate_id, is_current)
       LEFT JOIN domains USING (affiliate_id, is_current)
   )
   SELECT active.is_current, active.affiliate_id, f.code, a.uuid, cast(coalesce(c.clicks, 0) AS int) AS clicks,
          coalesce(referrals, 0) AS referrals, coalesce(suspended, 0) AS suspended, coalesce(own_domain, 0) AS own_domain,
          coalesce(same_network, 0) AS same_network, coalesce(same_domain, 0) AS same_domain,
          coalesce(invoices, 0) AS invoices, coalesce(reversed_invoices, 0) AS reversed_invoices,
          coalesce(commission_cents, 0) AS commission_cents
     FROM active
    CROSS JOIN LATERAL (SELECT code FROM affiliates WHERE account_id = active.affiliate_id LIMIT 1) f
    CROSS JOIN LATERAL (SELECT uuid FROM accounts WHERE id = active.affiliate_id LIMIT 1) a
    CROSS JOIN LATERAL (SELECT sum(clicks) AS clicks FROM referral_clicks
                         WHERE affiliate_id = active.affiliate_id
                           AND day >= cast(CASE WHEN active.is_current THEN :from ELSE :previousFrom END AS date)
                           AND day < cast(CASE WHEN active.is_current THEN :to ELSE :from END AS date)) c`,
);

/** Affiliates whose referrals should be reviewed. */
export const affiliateReport: ReportDefinition = {
  slug: 'affiliates',
  title: 'Affiliates to review',
  summary: 'Affiliates whose referrals match a rule for self-referral or abuse.',
  definition: [
    'Referrals count when the account was created, commissions when the invoice was paid, with later reversals; simulated plans count. Clicks are those of the range.',
    'An affiliate is listed if a rule below matches in the range. A match is a reason to review the accounts, not a proof, and nothing happens automatically.',
    ...AFFILIATE_SIGNALS.map(({ rule }, index) => `Rule ${index + 1}: ${rule}`),
  ],
  defaultRange: 'last 30 days',
  build: buildAffiliateTables,
};

const ACTIVITY_MEASURES: readonly ComputedMeasure<ActivityRow>[] = [
  measureSum('referrals', 'Referrals'),
  measureSum('clicks', 'Clicks'),
  {
    key: 'conversion_percent',
    label: 'Clicks that led to a sign-up',
    unit: 'percent',
    compute: (rows) => percent(sumBy(rows, 'referrals'), sumBy(rows, 'clicks')),
  },
  measureSum('invoices', 'Paid invoices'),
  measureSum('commission_cents', 'Commissions earned', 'cents'),
];

const sumCommissions = (rows: readonly ActivityRow[]) => sumBy(rows, 'commission_cents');

async function buildAffiliateTables(range: ReportRange): Promise<ReportTable[]> {
  const { since, previousSince, until } = range;
  const rows = await runStatement<ActivityRow>(READ_ACTIVITY, {
    since,
    previousSince,
    until,
    from: formatUtcDay(since),
    previousFrom: formatUtcDay(previousSince),
    to: formatUtcDay(until),
    publicDomains: PUBLIC_MAIL_DOMAINS,
  });
  const listed = findSuspicious(rows).slice(0, LISTED_AFFILIATES);
  const measures: readonly ComputedMeasure<ActivityRow>[] = [
    ...ACTIVITY_MEASURES,
    {
      key: 'commission_share_percent',
      label: 'Share of all commissions',
      unit: 'percent',
      compute: (own, isCurrent) => percent(sumCommissions(own), sumCommissions(selectPeriod(rows, isCurrent))),
    },
  ];
  const totals: readonly ComputedMeasure<ActivityRow>[] = [
    { key: 'active', label: 'Active affiliates', unit: 'count', compute: (members) => members.length },
    ...ACTIVITY_MEASURES,
  ];
  return [
    {
      key: 'affiliates',
      title: 'Matches',
      note: `Affiliates with a match, those with the most first, ${LISTED_AFFILIATES} at most.`,
      dimensions: [
        { key: 'affiliate', label: 'Account' },
        { key: 'code', label: 'Code' },
      ],
      measures,
      details: [{ key: 'signals', label: 'Matches' }],
      rows: listed.map(({ row, signals }) => ({
        labels: [row.uuid, row.code],
        amounts: compareRows(
          rows.filter(({ affiliate_id: id }) => id === row.affiliate_id),
          measures,
        ),
        details: [signals.join('; ')],
      })),
    },
    {
      key: 'totals',
      title: 'All affiliates',
      note: 'With and without a match. Active: at least one referral or paid invoice.',
      dimensions: [{ key: 'affiliates', label: 'Affiliates' }],
      measures: totals,
      rows: [{ labels: ['All'], amounts: compareRows(rows, totals) }],
    },
  ];
}

/** Finds the affiliates that a rule matches in the range, those with the most matches first. */
function findSuspicious(rows: ActivityRow[]): { row: ActivityRow; signals: string[] }[] {
  const current = selectPeriod(rows, true);
  const allCents = sumCommissions(current);
  return current
    .map((row) => ({
      row,
      signals: AFFILIATE_SIGNALS.map(({ find }) => find(row, allCents)).filter((text) => text !== null),
    }))
    .filter(({ signals }) => signals.length > 0)
    .toSorted((a, b) => b.signals.length - a.signals.length || b.row.referrals - a.row.referrals);
}
