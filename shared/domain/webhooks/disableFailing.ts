import type { AttemptResult } from '../../gateways/webhooks/postWebhook.ts';
import { now } from '../../lib/clock.ts';
import { logger } from '../../lib/logger.ts';
import { WEBHOOK_FAILING_MAX_MS } from '../../spec/webhookDelivery.ts';
import { WebhookEndpoint } from '../../tables/WebhookEndpoint.ts';
import { withAccountLock } from '../credits/ledger.ts';
import { recordEvent } from '../outbox/recordEvent.ts';
import { disableEndpoint } from './endpointState.ts';
import { GONE } from './outcomes.ts';
import { type DeliveryOutcome, type LeasedDelivery, recordAndClaim } from './recordAndClaim.ts';

const CLAIM_NOTHING = { healthy: 0, failing: 0, concurrency: 1 };

/**
 * Returns why a failed attempt disables its endpoint, if it does. The default endpoint stays: its receivers are those
 * of single generations.
 */
export function getDisabledReason(delivery: LeasedDelivery, result: AttemptResult): 'gone' | 'failing' | undefined {
  if (delivery.endpoint_url === null || result.error === undefined) return undefined;
  if (result.status === GONE) return 'gone';
  return hasFailedTooLong(delivery) ? 'failing' : undefined;
}

function hasFailedTooLong({ failing_since: since }: Pick<WebhookEndpoint, 'failing_since'>): boolean {
  return since !== null && now().getTime() - since.getTime() >= WEBHOOK_FAILING_MAX_MS;
}

/**
 * Records the attempt that ends the use of an endpoint, disables it, and records the event from which a message to its
 * owner follows.
 * @returns false if the delivery is no longer leased to the caller.
 */
export async function disableAfterFailure(
  delivery: LeasedDelivery,
  outcome: DeliveryOutcome,
  reason: 'gone' | 'failing',
): Promise<boolean> {
  const { isRecorded, isDisabled } = await withAccountLock(delivery.account_id, async (transaction) => {
    const endpoint = await WebhookEndpoint.query(transaction).findById(delivery.endpoint_id).forNoKeyUpdate();
    const { recorded } = await recordAndClaim([outcome], CLAIM_NOTHING, transaction);
    if (endpoint === undefined || recorded.size === 0) return { isRecorded: false, isDisabled: false };
    // Enabled again, moved to another address, or reached, since the attempt began.
    const isObsolete = endpoint.url !== delivery.endpoint_url || (reason === 'failing' && !hasFailedTooLong(endpoint));
    if (endpoint.disabled_at !== null || isObsolete) return { isRecorded: true, isDisabled: false };
    const { disabled_at: at } = await disableEndpoint(transaction, endpoint, reason);
    await recordEvent(transaction, {
      accountId: endpoint.account_id,
      type: 'webhook.disabled',
      subject: `${endpoint.uuid} ${at?.toISOString()}`,
      details: { endpoint: endpoint.uuid, url: endpoint.url, reason },
    });
    return { isRecorded: true, isDisabled: true };
  });
  if (isDisabled) logger.warn({ endpoint: delivery.endpoint_uuid, reason }, 'webhook endpoint disabled');
  return isRecorded;
}
