import type { Static } from 'typebox';
import { getReferralUrl } from '../../../shared/domain/affiliates/enroll.ts';
import type { AffiliateOverview } from '../../../shared/domain/affiliates/overview.ts';
import type { Affiliate } from '../../../shared/tables/Affiliate.ts';
import type { EnrollResponse, AffiliateStatusResponse } from './schemas.ts';

export function presentAffiliate(affiliate: Affiliate): Static<typeof EnrollResponse> {
  return { code: affiliate.code, referral_url: getReferralUrl(affiliate) };
}

export function presentAffiliateStatus({
  affiliate,
  isPayoutEnabled,
  stats,
  recent,
}: AffiliateOverview): Static<typeof AffiliateStatusResponse> {
  return {
    ...presentAffiliate(affiliate),
    payout_enabled: isPayoutEnabled,
    connect_onboarded: affiliate.connect_onboarded,
    stats: {
      referrals: stats.referrals,
      active: stats.active,
      lifetime_earnings_cents: stats.lifetimeEarningsCents,
      pending_cents: stats.pendingCents,
      paid_cents: stats.paidCents,
    },
    recent: recent.map((month) => ({
      month: month.month,
      referrals: month.referrals,
      commission_cents: month.commissionCents,
    })),
  };
}
