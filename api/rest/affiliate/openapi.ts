import { AffiliateStatusResponse, EnrollResponse, OnboardingLinkResponse } from './schemas.ts';
import type { FeatureDescription } from '../openapi/feature.ts';

const EXAMPLE_ENROLLMENT = { code: 'k7m2q9xw4htd', referral_url: 'https://app.example.org/r/k7m2q9xw4htd' };

export const AFFILIATE_DESCRIPTION: FeatureDescription = {
  tag: { name: 'Affiliate', description: 'Referrals and commissions.' },
  schemas: { AffiliateStatus: AffiliateStatusResponse },
  operations: {
    'POST /api/affiliate/enroll/': {
      id: 'enrollAsAffiliate',
      summary: 'Enroll in the affiliate program',
      description: 'Repeating the request returns the same code.',
      response: { status: 200, description: 'The referral link.', schema: EnrollResponse, example: EXAMPLE_ENROLLMENT },
    },
    'GET /api/affiliate/status/': {
      id: 'getAffiliateStatus',
      summary: 'Get referrals and earnings',
      description: 'Returns 404 before the account is enrolled. Commissions are pending until they can be paid out.',
      response: {
        status: 200,
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
      errorCodes: ['not_found'],
    },
    'POST /api/affiliate/onboarding-link/': {
      id: 'createAffiliateOnboardingLink',
      summary: 'Create an onboarding link for payouts',
      description:
        "Returns a link to the payment processor's page where the affiliate enters or updates the payout details.",
      response: {
        status: 200,
        description: 'The link, valid for a short time.',
        schema: OnboardingLinkResponse,
        example: { url: 'https://connect.example.org/setup/s/123' },
      },
      errorCodes: ['not_found'],
    },
  },
};
