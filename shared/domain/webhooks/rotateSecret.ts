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
 * Replaces the keys of an endpoint, whose row the transaction has locked. The former keys sign as well for 24 hours;
 * keys of an earlier rotation stop at once.
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
  await recordEndpointChange(transaction, endpoint, 'webhook_secret_rotated', origin);
  return { endpoint: rotated, secret: keys.secret };
}

/** Records a change of an endpoint in the security log, by its host: its path may contain a secret of the receiver. */
export function recordEndpointChange(
  transaction: Transaction,
  { account_id: accountId, uuid, url }: WebhookEndpoint,
  event: 'webhook_created' | 'webhook_url_changed' | 'webhook_deleted' | 'webhook_secret_rotated',
  origin: RequestOrigin,
): Promise<void> {
  const details: Record<string, string> = url === null ? {} : { host: new URL(url).host };
  return recordSecurityEvent(transaction, { accountId, event, origin, details, subject: { webhook: uuid } });
}
