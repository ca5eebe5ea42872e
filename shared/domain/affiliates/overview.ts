import { now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { AFFILIATE_STATUS_MONTHS } from '../../spec/limits.ts';
import type { Affiliate } from '../../tables/Affiliate.ts';
import { getAffiliate } from './enroll.ts';
import { canReceivePayouts, getMonthStart } from './payouts.ts';

/** The referrals and earnings of an affiliate, in cents, net of refunds. */
export interface AffiliateOverview {
  affiliate: Affiliate;
  isPayoutEnabled: boolean;
  stats: {
    /** Referred accounts, and how many of them have a subscription now. */
    referrals: number;
    active: number;
    /**
     * All earnings. `pending_cents` is the part not paid out yet, below zero if more was paid out than is earned now.
     */
    lifetime_earnings_cents: number;
    pending_cents: number;
    paid_cents: number;
  };
  /** The last twelve months (UTC), the current one last. */
  recent: { month: string; referrals: number; commission_cents: number }[];
}

const AFFILIATE_STATS = prepared(
  'affiliate_stats',
  `SELECT referrals, active, earned AS lifetime_earnings_cents, earned - paid AS pending_cents, paid AS paid_cents
     FROM (SELECT cast(count(*) AS int) AS referrals,
                  cast(count(*) FILTER (WHERE a.plan_slug IS NOT NULL AND a.spendable_until > :now) AS int) AS active
             FROM referrals r JOIN accounts a ON a.id = r.account_id WHERE r.affiliate_id = :affiliate) referred,
          (SELECT cast(coalesce(sum(amount_cents), 0) AS float8) AS earned FROM commissions WHERE affiliate_id = :affiliate) e,
          (SELECT cast(coalesce(sum(amount_cents), 0) AS float8) AS paid FROM payouts
            WHERE affiliate_id = :affiliate AND status = 'paid') p`,
);

const AFFILIATE_MONTHLY_TOTALS = prepared(
  'affiliate_months',
  `WITH months AS (
     SELECT cast(:first AS timestamp) + make_interval(months => n) AS begin FROM generate_series(0, :count - 1) AS n
   ), referred AS (
     SELECT date_trunc('month', created_at AT TIME ZONE 'UTC') AS begin, count(*) AS referrals
       FROM referrals WHERE affiliate_id = :affiliate AND created_at >= cast(:first AS timestamp) AT TIME ZONE 'UTC' GROUP BY 1
   ), earned AS (
     SELECT date_trunc('month', paid_at AT TIME ZONE 'UTC') AS begin, sum(amount_cents) AS cents
       FROM commissions WHERE affiliate_id = :affiliate AND paid_at >= cast(:first AS timestamp) AT TIME ZONE 'UTC' GROUP BY 1
   )
   SELECT to_char(begin, 'YYYY-MM') AS month, cast(coalesce(referrals, 0) AS int) AS referrals,
          cast(coalesce(cents, 0) AS float8) AS commission_cents
     FROM months LEFT JOIN referred USING (begin) LEFT JOIN earned USING (begin) ORDER BY begin`,
);

/**
 * Returns the overview that an affiliate sees (spec: Affiliate).
 * @throws ServiceError not_found if the account is not enrolled.
 */
export async function getAffiliateOverview(accountId: number): Promise<AffiliateOverview> {
  const affiliate = await getAffiliate(accountId);
  const first = getMonthStart(now());
  first.setUTCMonth(first.getUTCMonth() - (AFFILIATE_STATUS_MONTHS - 1));
  const [[stats], recent] = await Promise.all([
    runStatement<AffiliateOverview['stats']>(AFFILIATE_STATS, { affiliate: accountId, now: now() }),
    runStatement<AffiliateOverview['recent'][number]>(AFFILIATE_MONTHLY_TOTALS, {
      affiliate: accountId,
      first: first.toISOString().slice(0, 19),
      count: AFFILIATE_STATUS_MONTHS,
    }),
  ]);
  return {
    affiliate,
    isPayoutEnabled: canReceivePayouts(affiliate),
    stats: stats as AffiliateOverview['stats'],
    recent,
  };
}
