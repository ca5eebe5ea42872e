import type { Transaction } from 'objection';
import { now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { runInBatches, STATEMENT_BATCH_SIZE } from '../../lib/database/runInBatches.ts';
import { Account } from '../../tables/Account.ts';
import { WebhookEndpoint } from '../../tables/WebhookEndpoint.ts';

/** Reasons why an endpoint receives nothing. */
export type DisabledReason = NonNullable<WebhookEndpoint['disabled_reason']>;

/** `last_error` of deliveries that ended because their endpoint was disabled. */
const ENDPOINT_DISABLED = 'endpoint_disabled';

const buildEndPending = (condition: string) =>
  `UPDATE webhook_deliveries
      SET status = 'failed', next_attempt_at = NULL, leased_until = NULL, leased_by = NULL,
          last_error = '${ENDPOINT_DISABLED}'
    WHERE id IN (
      SELECT d.id FROM webhook_deliveries d JOIN webhook_endpoints w ON w.id = d.endpoint_id
       WHERE d.status = 'pending' AND w.disabled_at IS NOT NULL ${condition}
       LIMIT ${STATEMENT_BATCH_SIZE} FOR NO KEY UPDATE OF d, w SKIP LOCKED)
   RETURNING id`;

const END_PENDING_OF_ENDPOINT = prepared('end_pending_deliveries', buildEndPending('AND w.id = :endpointId'));
const END_PENDING = prepared('end_all_pending_deliveries', buildEndPending(''));

/**
 * Disables an endpoint. The transaction has locked the account, and then the endpoint. Pending deliveries fail, and can
 * be redelivered once the endpoint is enabled again. One batch of them fails here, so that the time that it takes does
 * not depend on their number; `failDeliveriesOfDisabledEndpoints` ends the others.
 */
export async function disableEndpoint(
  transaction: Transaction,
  endpoint: WebhookEndpoint,
  reason: DisabledReason,
): Promise<WebhookEndpoint> {
  const at = now();
  const disabled = await endpoint
    .$query(transaction)
    .patchAndFetch({ disabled_at: at, disabled_reason: reason, next_delivery_at: null, updated_at: at });
  await runStatement(END_PENDING_OF_ENDPOINT, { endpointId: endpoint.id }, transaction);
  await updateWebhookCount(transaction, endpoint.account_id);
  return disabled;
}

/**
 * Disables all endpoints of an account whose row the transaction has locked. Its owner can enable them again.
 * @param since those that were not created or changed from this time on stay enabled.
 * @returns the number of endpoints that were enabled.
 */
export async function disableEndpoints(transaction: Transaction, accountId: number, since: Date): Promise<number> {
  const enabled = await WebhookEndpoint.query(transaction)
    .where({ account_id: accountId })
    .whereNotNull('url')
    .whereNull('disabled_at')
    .where('updated_at', '>=', since)
    .orderBy('id')
    .forNoKeyUpdate();
  for (const endpoint of enabled) await disableEndpoint(transaction, endpoint, 'owner');
  return enabled.length;
}

/** Fails deliveries that are still pending although their endpoint is disabled. */
export async function failDeliveriesOfDisabledEndpoints(): Promise<void> {
  await runInBatches(END_PENDING, {});
}

const ENABLE = prepared(
  'enable_webhook_endpoint',
  `UPDATE webhook_endpoints w
      SET disabled_at = NULL, disabled_reason = NULL, failing_since = NULL, after_event_id = DEFAULT,
          updated_at = :now,
          next_delivery_at = (SELECT min(next_attempt_at) FROM webhook_deliveries
                               WHERE endpoint_id = w.id AND status = 'pending')
    WHERE id = :endpointId`,
);

/** Enables an endpoint. The transaction has locked the account, and then the endpoint. */
export async function enableEndpoint(transaction: Transaction, endpoint: WebhookEndpoint): Promise<WebhookEndpoint> {
  await runStatement(ENABLE, { endpointId: endpoint.id, now: now() }, transaction);
  await updateWebhookCount(transaction, endpoint.account_id);
  return WebhookEndpoint.query(transaction).findById(endpoint.id).throwIfNotFound();
}

/**
 * Stores the number of enabled endpoints in the account, which the transaction has locked. The default endpoint does
 * not count: it receives events of generations with a `webhook_url` only.
 */
export async function updateWebhookCount(transaction: Transaction, accountId: number): Promise<void> {
  const enabled = WebhookEndpoint.query(transaction)
    .where({ account_id: accountId })
    .whereNotNull('url')
    .whereNull('disabled_at');
  await Account.query(transaction)
    .findById(accountId)
    .patch({ webhook_count: await enabled.resultSize() });
}
