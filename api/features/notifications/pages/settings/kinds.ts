import type { EmailKind } from '../../../../../shared/spec/events.ts';

/** Labels of the kinds of messages. */
export const KIND_LABELS: Record<EmailKind, string> = {
  welcome: 'The account is created',
  plan_active: 'A plan becomes active',
  credits_low: 'The balance is low',
  auto_topup_failed: 'An automatic top-up failed',
  auto_topup_disabled: 'Automatic top-ups were switched off',
  payment_failed: 'A payment for the plan failed',
  renewal_upcoming: 'The plan renews in 30 and in 7 days',
  payout_sent: 'An affiliate payout was sent',
  payout_setup_missing: 'Commissions wait for the set-up of payouts',
  webhook_disabled: 'A webhook endpoint was disabled',
  key_created: 'An API key was created',
  application_connected: 'An application was connected',
  new_sign_in: 'The account was signed in to with another browser',
  identity_removed: 'A sign-in method was removed',
};
