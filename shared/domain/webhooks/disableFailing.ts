import type { AttemptResult } from '../../gateways/webhooks/postWebhook.ts';
import { now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { logger } from '../../lib/logger.ts';
import { WEBHOOK_FAILING_MAX_MS } from '../../spec/webhookDelivery.ts';
import { Account } from '../../tables/Account.ts';
import { WebhookEndpoint } from '../../tables/WebhookEndpoint.ts';
import { lockAccount } from '../credits/ledger.ts';
import { recordEvent } from '../outbox/recordEvent.ts';
import type { DeliveryTarget } from './dueDeliveries.ts';
import { disableEndpoint, ENDPOINT_DISABLED } from './endpointState.ts';
import { type DeliveryOutcome, GONE, recordOutcomes } from './outcomes.ts';

/**
 * Returns why a failed attempt disables its endpoint, if it does. The default endpoint stays: its receivers are those of
 * single generations.
 */
export function getDisabledReason(target: DeliveryTarget, result: AttemptResult): 'gone' | 'failing' | undefined {
  if (target.url === null || result.error === undefined) return undefined;
  if (result.status === GONE) return 'gone';
  return hasFailedTooLong(target) ? 'failing' : undefined;
}

function hasFailedTooLong({ failing_since: since }: Pick<WebhookEndpoint, 'failing_since'>): boolean {
  return since !== null && now().getTime() - since.getTime() >= WEBHOOK_FAILING_MAX_MS;
}

/**
 * Records the attempt that ends the use of an endpoint, disables it, and records the event from which a message to its
 * owner follows.
 * @returns false if the endpoint or the delivery is no longer ours.
 */
export async function disableAfterFailure(
  target: DeliveryTarget,
  outcome: DeliveryOutcome,
  reason: 'gone' | 'failing',
): Promise<boolean> {
  let isDisabled = false;
  const isRecorded = await Account.transaction(async (transaction) => {
    await lockAccount(transaction, target.account_id);
    const endpoint = await WebhookEndpoint.query(transaction)
      .findOne({ id: target.id, lease_token: outcome.token })
      .forNoKeyUpdate();
    if (endpoint === undefined) return false;
    const recorded = await recordOutcomes([outcome], transaction);
    if (!recorded.has(outcome.id)) return false;
    // Enabled again, moved to another address, or reached, since the attempt began.
    const isObsolete = endpoint.url !== target.url || (reason === 'failing' && !hasFailedTooLong(endpoint));
    if (endpoint.disabled_at !== null || isObsolete) return true;
    const { disabled_at: at } = await disableEndpoint(transaction, endpoint, reason);
    isDisabled = true;
    await recordEvent(transaction, {
      accountId: endpoint.account_id,
      type: 'webhook.disabled',
      subject: `${endpoint.uuid} ${at?.toISOString()}`,
      details: { endpoint: endpoint.uuid, url: endpoint.url, reason },
    });
    return true;
  });
  if (isDisabled) logger.warn({ endpoint: target.uuid, reason }, 'webhook endpoint disabled');
  return isRecorded;
}

const BATCH_SIZE = 500;

const FAIL_PENDING_DELIVERIES = prepared(
  'fail_pending_webhook_deliveries',
  `UPDATE webhook_deliveries d
      SET status = 'failed', next_attempt_at = NULL, last_error = '${ENDPOINT_DISABLED}'
     FROM (SELECT id FROM webhook_deliveries
            WHERE endpoint_id = :endpointId AND status = 'pending' ORDER BY id LIMIT ${BATCH_SIZE}) pending
    WHERE d.id = pending.id AND d.status = 'pending'
      AND EXISTS (SELECT FROM webhook_endpoints e WHERE e.id = :endpointId AND e.disabled_at IS NOT NULL)
   RETURNING d.id`,
);

/** Fails deliveries that were created while their endpoint was disabled: their event was dispatched at that moment. */
export async function failPendingDeliveries({ id: endpointId }: DeliveryTarget): Promise<void> {
  while ((await runStatement(FAIL_PENDING_DELIVERIES, { endpointId })).length === BATCH_SIZE);
}
