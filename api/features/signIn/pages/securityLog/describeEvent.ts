import type { SecurityEventName } from '../../../../../shared/domain/accounts/securityEvents.ts';
import type { ProviderName } from '../../../../../shared/gateways/identity/index.ts';
import type { SpendingPeriod } from '../../../../../shared/spec/states.ts';
import type { SecurityEvent } from '../../../../../shared/tables/SecurityEvent.ts';
import { PROVIDER_TITLES } from '../../../../web/components/providerLogos.tsx';
import { describeLimit } from '../../../../web/components/spendingLimit.tsx';
import { describeBrowser } from '../../../../../shared/lib/browserName.ts';

type Details = SecurityEvent['details'];

/** Sentences for the events, without a period. */
const SENTENCES: Record<SecurityEventName, (details: Details) => string> = {
  signed_in: ({ provider }) => (provider === undefined ? 'Signed in' : `Signed in with ${getProviderTitle(provider)}`),
  sign_in_failed: ({ provider }) =>
    `Sign-in with ${getProviderTitle(provider)} was rejected: it is not linked to the account`,
  signed_out: () => 'Signed out',
  session_ended: ({ ended_browser: browser, sessions, provider }) => {
    if (browser !== undefined) return `Signed out ${describeBrowser(String(browser))}`;
    if (provider === undefined) return `Signed out of ${sessions} other sessions`;
    return `Signed out of ${sessions} sessions, because access was withdrawn at ${getProviderTitle(provider)}`;
  },
  identity_linked: ({ provider }) => `${getProviderTitle(provider)} linked as a sign-in method`,
  identity_removed: ({ provider }) => `${getProviderTitle(provider)} removed as a sign-in method`,
  identity_restored: ({ provider, identities, sessions, keys, grants, webhooks }) =>
    `${getProviderTitle(provider)} restored as a sign-in method, by the link of the message. This removed ${identities} sign-in methods, ended ${sessions} sessions, ${keys} API keys and ${grants} application grants, and disabled ${webhooks} webhook endpoints`,
  key_created: ({ name, prefix }) => `API key “${name}” (${prefix}…) created`,
  key_changed: ({ name, prefix, changed }) =>
    `API key “${name}” (${prefix}…) changed: ${String(changed).replaceAll('_', ' ')}`,
  key_revoked: ({ name, prefix }) => `API key “${name}” (${prefix}…) revoked`,
  application_connected: ({ application }) => `Access of ${application} approved`,
  application_disconnected: ({ application, reason }) =>
    `${application} disconnected${DISCONNECT_REASONS[String(reason)] ?? ''}`,
  application_limit_changed: ({ application, credits, period }) =>
    credits === undefined
      ? `Spending limit of ${application} removed`
      : `Spending limit of ${application} set to ${describeLimit({ credits: Number(credits), period: period as SpendingPeriod })}`,
  access_revoked: ({ sessions, keys, grants, webhooks = 0 }) =>
    `Support ended ${sessions} sessions, ${keys} API keys and ${grants} application grants, and disabled ${webhooks} webhook endpoints`,
  webhook_created: ({ host }) => `Webhook endpoint at ${host} created`,
  webhook_url_changed: ({ host }) => `Address of a webhook endpoint changed to ${host}`,
  webhook_deleted: ({ host }) => `Webhook endpoint at ${host} deleted`,
  webhook_secret_rotated: ({ host }) =>
    host === undefined ? 'Default webhook secret rotated' : `Secret of the webhook endpoint at ${host} rotated`,
  data_exported: () => 'Data downloaded',
  deletion_requested: () => 'Deletion of the account requested',
  deletion_undone: () => 'Deletion of the account undone',
};

const DISCONNECT_REASONS: Record<string, string> = {
  application: ' by itself',
  token_reuse: ' because a token was used twice',
};

/** Describes a security event for the owner of the account. */
export function describeEvent({ event, details }: SecurityEvent): string {
  return SENTENCES[event as SecurityEventName]?.(details) ?? event;
}

function getProviderTitle(provider: unknown): string {
  return PROVIDER_TITLES[provider as ProviderName] ?? String(provider);
}
