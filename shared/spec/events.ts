import type { MemberRight } from './roles.ts';

/** Events that the service records for webhooks and e-mail, and the messages that follow from them. */

/** Types of events that webhooks send, each with the right that reading it requires. */
export const WEBHOOK_EVENT_RIGHTS = {
  'generation.succeeded': 'viewGenerations',
  'generation.failed': 'viewGenerations',
  'credits.low': 'viewUsage',
  'credits.granted': 'viewUsage',
  'topup.succeeded': 'manageBilling',
  'topup.failed': 'manageBilling',
  'subscription.updated': 'viewUsage',
  'key.created': 'manageKeys',
  'key.revoked': 'manageKeys',
  'affiliate.commission': 'manageAffiliate',
  'affiliate.payout': 'manageAffiliate',
} as const satisfies Record<string, MemberRight>;
export type WebhookEventType = keyof typeof WEBHOOK_EVENT_RIGHTS;
export const WEBHOOK_EVENT_TYPES = Object.keys(WEBHOOK_EVENT_RIGHTS) as WebhookEventType[];

/** Type of the event that the test of an endpoint sends. */
export const WEBHOOK_TEST_TYPE = 'webhook.test';

/** Types of events that only e-mail follows from. */
const EMAIL_EVENT_TYPES = [
  'account.created',
  'plan.activated',
  'auto_topup.disabled',
  'payment.failed',
  'renewal.upcoming',
  'application.connected',
  'session.created',
  'identity.removed',
  'payout.setup_missing',
  'webhook.disabled',
  'member.invited',
  'member.removed',
  'member.role_changed',
  'account.handed_over',
  'account.received',
] as const;
export type EventType = WebhookEventType | (typeof EMAIL_EVENT_TYPES)[number] | typeof WEBHOOK_TEST_TYPE;

/** Kinds of e-mail messages to the owner of an account, who can switch each off, except those about security. */
export const EMAIL_KINDS = [
  'welcome',
  'plan_active',
  'credits_low',
  'auto_topup_failed',
  'auto_topup_disabled',
  'payment_failed',
  'renewal_upcoming',
  'payout_sent',
  'payout_setup_missing',
  'webhook_disabled',
  'key_created',
  'application_connected',
  'new_sign_in',
  'identity_removed',
] as const;
export type OwnerEmailKind = (typeof EMAIL_KINDS)[number];

/**
 * Kinds of messages to an invited address, to members, and to both people of a hand-over: no setting of the account.
 */
export const MEMBER_EMAIL_KINDS = [
  'member_invited',
  'member_removed',
  'member_role_changed',
  'account_handed_over',
  'account_received',
] as const;
export type MemberEmailKind = (typeof MEMBER_EMAIL_KINDS)[number];
export type EmailKind = OwnerEmailKind | MemberEmailKind;

export const SECURITY_EMAIL_KINDS: readonly OwnerEmailKind[] = [
  'key_created',
  'application_connected',
  'new_sign_in',
  'identity_removed',
];

/** Kinds that are sent whatever the settings of the account. */
export const UNCONDITIONAL_EMAIL_KINDS: readonly EmailKind[] = [...SECURITY_EMAIL_KINDS, ...MEMBER_EMAIL_KINDS];

/** The message that follows from an event. Others send none. */
export const EMAIL_KIND_BY_EVENT: Partial<Record<EventType, EmailKind>> = {
  'account.created': 'welcome',
  'plan.activated': 'plan_active',
  'credits.low': 'credits_low',
  'topup.failed': 'auto_topup_failed',
  'auto_topup.disabled': 'auto_topup_disabled',
  'payment.failed': 'payment_failed',
  'renewal.upcoming': 'renewal_upcoming',
  'affiliate.payout': 'payout_sent',
  'payout.setup_missing': 'payout_setup_missing',
  'webhook.disabled': 'webhook_disabled',
  'key.created': 'key_created',
  'application.connected': 'application_connected',
  'session.created': 'new_sign_in',
  'identity.removed': 'identity_removed',
  'member.invited': 'member_invited',
  'member.removed': 'member_removed',
  'member.role_changed': 'member_role_changed',
  'account.handed_over': 'account_handed_over',
  'account.received': 'account_received',
};

export function isMemberEmailKind(kind: EmailKind): kind is MemberEmailKind {
  return (MEMBER_EMAIL_KINDS as readonly string[]).includes(kind);
}

export function isWebhookEventType(type: string): type is WebhookEventType {
  return Object.hasOwn(WEBHOOK_EVENT_RIGHTS, type);
}
