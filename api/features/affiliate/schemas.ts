import Type from 'typebox';

export const EnrollResponse = Type.Object({
  code: Type.String({ description: 'The last part of referral_url' }),
  referral_url: Type.String({ format: 'uri' }),
});

export const AffiliateStatusResponse = Type.Object({
  code: Type.String(),
  referral_url: Type.String({ format: 'uri' }),
  payout_enabled: Type.Boolean({ description: 'Whether commissions can be paid out' }),
  connect_onboarded: Type.Boolean({ description: 'Whether onboarding at the payment processor is complete' }),
  stats: Type.Object({
    referrals: Type.Integer(),
    active: Type.Integer({ description: 'Number of referrals with an active subscription' }),
    lifetime_earnings_cents: Type.Integer(),
    pending_cents: Type.Integer(),
    paid_cents: Type.Integer(),
  }),
  recent: Type.Array(
    Type.Object({
      month: Type.String({ pattern: '^\\d{4}-\\d{2}$' }),
      referrals: Type.Integer(),
      commission_cents: Type.Integer(),
    }),
    { description: 'By month' },
  ),
});

export const OnboardingLinkResponse = Type.Object({
  url: Type.String({ format: 'uri', description: 'A page of the payment processor, valid for a short time' }),
});
