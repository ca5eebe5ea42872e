import type { SecurityEventName } from '../../../../../shared/domain/accounts/securityEvents.ts';
import type { ProviderName } from '../../../../../shared/gateways/identity/index.ts';
import type { SpendingPeriod } from '../../../../../shared/spec/states.ts';
import type { SecurityEvent } from '../../../../../shared/tables/SecurityEvent.ts';
import { describeBrowser } from '../../../../web/components/describeBrowser.ts';
import { PROVIDER_TITLES } from '../../../../web/components/providerLogos.tsx';
import { describeLimit } from '../../../../web/components/spendingLimit.tsx';
import { KEY_FIELDS, EVENTS as t } from './texts.ts';

/** Details of all events. Each event has those that its sentence names. */
interface Facts extends Record<'sessions' | 'keys' | 'grants' | 'webhooks' | 'identities', number> {
  /** Title of the provider. */
  provider: string;
  ended_browser: string;
  name: string;
  prefix: string;
  changed: string;
  application: string;
  reason: string;
  credits: number;
  period: SpendingPeriod;
  host: string;
  member: string;
  role: string;
  plan: string;
  state: 'on' | 'off';
}

const SENTENCES: Record<SecurityEventName, (facts: Facts) => string> = {
  signed_in: (facts) => ('provider' in facts ? t.signedInWith(facts) : t.signedIn()),
  sign_in_failed: t.signInFailed,
  signed_out: t.signedOut,
  session_ended: (facts) => {
    if ('ended_browser' in facts) return t.signedOutBrowser({ browser: describeBrowser(facts.ended_browser) });
    return 'provider' in facts ? t.accessWithdrawn(facts) : t.signedOutOthers(facts);
  },
  identity_linked: t.identityLinked,
  identity_removed: t.identityRemoved,
  identity_restored: t.identityRestored,
  key_created: t.keyCreated,
  key_changed: (facts) => t.keyChanged({ ...facts, changed: facts.changed.split(', ').map(nameField).join(', ') }),
  key_revoked: t.keyRevoked,
  application_connected: t.applicationConnected,
  application_disconnected: t.applicationDisconnected,
  application_limit_changed: (facts) =>
    'credits' in facts ? t.limitSet({ ...facts, limit: describeLimit(facts) }) : t.limitRemoved(facts),
  access_revoked: t.accessRevoked,
  webhook_created: t.webhookCreated,
  webhook_url_changed: t.webhookUrlChanged,
  webhook_deleted: t.webhookDeleted,
  webhook_secret_rotated: (facts) => ('host' in facts ? t.secretRotated(facts) : t.defaultSecretRotated()),
  plan_checkout_opened: t.planCheckoutOpened,
  billing_portal_opened: t.billingPortalOpened,
  auto_topup_changed: (facts) => (facts.state === 'on' ? t.autoTopupOn() : t.autoTopupOff()),
  data_exported: t.dataExported,
  member_invited: t.memberInvited,
  invitation_revoked: t.invitationRevoked,
  member_joined: t.memberJoined,
  member_changed: (facts) => ('role' in facts ? t.roleChanged(facts) : t.memberLimitChanged(facts)),
  member_removed: t.memberRemoved,
  member_left: t.memberLeft,
  account_handed_over: t.handedOver,
  account_entered: t.accountEntered,
  deletion_requested: t.deletionRequested,
  deletion_undone: t.deletionUndone,
};

/** Describes a security event for the owner of the account. */
export function describeEvent({ event, details }: SecurityEvent): string {
  const { provider } = details;
  const title = provider === undefined ? {} : { provider: PROVIDER_TITLES[provider as ProviderName] ?? provider };
  const facts = { reason: '', webhooks: 0, ...details, ...title } as unknown as Facts;
  return SENTENCES[event as SecurityEventName]?.(facts) ?? event;
}

const nameField = (field: string) => KEY_FIELDS[field as keyof typeof KEY_FIELDS]?.() ?? field;
