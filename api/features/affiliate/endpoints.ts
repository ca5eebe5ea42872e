import { enrollAffiliate, getReferralUrl } from '../../../shared/domain/affiliates/enroll.ts';
import { getAffiliateOverview, type AffiliateOverview } from '../../../shared/domain/affiliates/overview.ts';
import { createPayoutOnboardingLink } from '../../../shared/domain/affiliates/payoutAccounts.ts';
import type { Feature } from '../feature.ts';
import { defineEndpoint } from '../../pipeline/endpoint.ts';
import { AffiliateStatusResponse, EnrollResponse, OnboardingLinkResponse } from './schemas.ts';
import type { Static } from 'typebox';
import type { Affiliate } from '../../../shared/tables/Affiliate.ts';

const EXAMPLE_ENROLLMENT = { code: 'k7m2q9xw4htd', referral_url: 'https://app.example.org/r/k7m2q9xw4htd' };

export const AFFILIATE: Feature = {
  tag: { name: 'Affiliate', description: 'Referrals and commissions.' },
  schemas: { AffiliateStatus: AffiliateStatusResponse },
  endpoints: [
    defineEndpoint({
      id: 'enrollAsAffiliate',
      route: 'POST /api/affiliate/enroll/',
      policy: { needs: 'manageAffiliate', access: 'account' },
      summary: 'Enroll in the affiliate program',
      description: 'Repeating the request returns the same code.',
      response: { description: 'The referral link.', schema: EnrollResponse, example: EXAMPLE_ENROLLMENT },
      run: async ({ caller }) => presentAffiliate(await enrollAffiliate(caller)),
    }),
    defineEndpoint({
      id: 'getAffiliateStatus',
      route: 'GET /api/affiliate/status/',
      policy: { needs: 'manageAffiliate', access: 'account' },
      summary: 'Get referrals and earnings',
      description: 'Returns 404 before the account is enrolled. Commissions are pending until they can be paid out.',
      response: {
        description: 'The affiliate status. Amounts are in integer cents.',
        schema: AffiliateStatusResponse,
        example: {
          ...EXAMPLE_ENROLLMENT,
          payout_enabled: false,
          connect_onboarded: false,
          stats: { referrals: 3, active: 1, lifetime_earnings_cents: 10_440, pending_cents: 10_440, paid_cents: 0 },
          recent: [{ month: '2026-11', referrals: 3, commission_cents: 10_440 }],
        },
      },
      errors: ['not_found'],
      run: async ({ accountId }) => presentAffiliateStatus(await getAffiliateOverview(accountId)),
    }),
    defineEndpoint({
      id: 'createAffiliateOnboardingLink',
      route: 'POST /api/affiliate/onboarding-link/',
      policy: { needs: 'own', rateLimit: 'payment', access: 'account', recentSignIn: true },
      summary: 'Create an onboarding link for payouts',
      description:
        "Returns a link to the payment processor's page where the affiliate enters or updates the payout details.",
      response: {
        description: 'The link, valid for a short time.',
        schema: OnboardingLinkResponse,
        example: { url: 'https://connect.example.org/setup/s/123' },
      },
      errors: ['not_found'],
      run: async ({ caller }) => ({ url: await createPayoutOnboardingLink(caller) }),
    }),
  ],
};

function presentAffiliate(affiliate: Affiliate): Static<typeof EnrollResponse> {
  return { code: affiliate.code, referral_url: getReferralUrl(affiliate) };
}

function presentAffiliateStatus({
  affiliate,
  isPayoutEnabled,
  stats,
  recent,
}: AffiliateOverview): Static<typeof AffiliateStatusResponse> {
  return {
    ...presentAffiliate(affiliate),
    payout_enabled: isPayoutEnabled,
    connect_onboarded: affiliate.connect_onboarded,
    stats,
    recent,
  };
}
