import type { Transaction } from 'objection';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { PREVIOUS_WEBHOOK_KEYS_MS } from '../../spec/limits.ts';
import type { WebhookEndpoint } from '../../tables/WebhookEndpoint.ts';
import { recordSecurityEvent, type RequestOrigin } from '../accounts/securityEvents.ts';
import { generateSigningKeys, sealKeys } from './signingKeys.ts';

/** An endpoint with its secret, which is returned only when it was created. */
export interface EndpointWithSecret {
  endpoint: WebhookEndpoint;
  secret: string;
}

/**
 * Replaces the keys of an endpoint, whose row the transaction has locked. The former keys sign as well for 24 hours; keys
 * of an earlier rotation stop at once.
 */
export async function replaceKeys(
  transaction: Transaction,
  endpoint: WebhookEndpoint,
  origin: RequestOrigin,
): Promise<EndpointWithSecret> {
  const keys = generateSigningKeys();
  const at = now();
  const rotated = await endpoint.$query(transaction).patchAndFetch({
    ...sealKeys(endpoint.uuid, keys),
    previous_secret: endpoint.secret,
    previous_private_key: endpoint.private_key,
    previous_until: addMilliseconds(at, PREVIOUS_WEBHOOK_KEYS_MS),
    updated_at: at,
  });
  await recordSecurityEvent(transaction, {
    accountId: endpoint.account_id,
    event: 'webhook_secret_rotated',
    origin,
    details: describeEndpoint(endpoint),
    subject: { webhook: endpoint.uuid },
  });
  return { endpoint: rotated, secret: keys.secret };
}

/** Describes an endpoint in the security log. Its path may contain a secret of the receiver. */
export function describeEndpoint({ url }: Pick<WebhookEndpoint, 'url'>): Record<string, string> {
  return url === null ? {} : { host: new URL(url).host };
}
