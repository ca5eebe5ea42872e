import type { Transaction } from 'objection';
import { now } from '../../lib/clock.ts';
import { createAccountSlots } from '../../lib/accountSlots.ts';
import { DB_WAIT_TIMEOUT } from '../../lib/database/waitTimeout.ts';
import { prepared, runStatement, type Statement } from '../../lib/database/preparedStatements.ts';
import { buildFilterBindings, buildFilteredPage, type FilteredRow } from '../../lib/listFilter.ts';
import type { ListPage } from '../../lib/pagination.ts';
import { enqueueWebhooks } from '../../queues/enqueue.ts';
import { ServiceError } from '../../spec/errors.ts';
import type { WebhookEventType, WEBHOOK_TEST_TYPE } from '../../spec/events.ts';
import type { OutboxEvent } from '../../tables/OutboxEvent.ts';
import { WebhookDelivery } from '../../tables/WebhookDelivery.ts';
import { WebhookEndpoint } from '../../tables/WebhookEndpoint.ts';
import type { Caller } from '../accounts/caller.ts';
import { withAccountOfCaller } from '../accounts/lockedCredentials.ts';
import { assertEnabled, endpointNotFoundError, findEndpoint } from './findEndpoint.ts';
import { assertReadable } from './readableTypes.ts';

export type DeliveryStatus = WebhookDelivery['status'];
export const DELIVERY_STATUSES = ['pending', 'succeeded', 'failed'] as const satisfies readonly DeliveryStatus[];

/** A delivery with its event. */
export interface ListedDelivery
  extends Pick<
    WebhookDelivery,
    | 'uuid'
    | 'status'
    | 'attempts'
    | 'next_attempt_at'
    | 'last_attempt_at'
    | 'last_status'
    | 'last_error'
    | 'delivered_at'
    | 'created_at'
  > {
  event_uuid: string;
  type: OutboxEvent['type'];
  /** Duration of the last attempt. */
  last_duration_ms: number | null;
  /** Address that the next attempt would use. */
  url: string;
}

/** A delivery with its message and attempts. */
export interface DeliveryDetails extends ListedDelivery, Pick<WebhookDelivery, 'attempt_log'> {
  /** The message that its attempts send. */
  body: string;
}

const COLUMNS = `d.uuid, e.uuid AS event_uuid, e.type, coalesce(d.url, w.url) AS url, d.status, d.attempts, d.next_attempt_at,
          d.last_attempt_at, d.last_status, d.last_error, d.delivered_at, d.created_at,
          cast(d.attempt_log -> -1 ->> 'duration_ms' AS integer) AS last_duration_ms`;
const JOINS = `JOIN outbox_events e ON e.id = d.event_id
          JOIN webhook_endpoints w ON w.id = d.endpoint_id`;

/** Works as the statement of filtered generations does (`generations/list.ts`). */
const buildList = (name: string, condition: string): Statement =>
  prepared(
    `list_${name}_deliveries`,
    `WITH matching AS MATERIALIZED (
       SELECT id FROM webhook_deliveries WHERE endpoint_id = :endpointId ${condition} ORDER BY id DESC LIMIT :max
     )
     SELECT total.matches, shown.id AS number, d.*
       FROM (SELECT count(*) AS matches FROM matching) total
       LEFT JOIN (SELECT id FROM matching ORDER BY id DESC OFFSET :skip LIMIT :limit) shown ON true
       LEFT JOIN LATERAL (SELECT ${COLUMNS} FROM webhook_deliveries d ${JOINS} WHERE d.id = shown.id) d ON true
      ORDER BY shown.id DESC`,
  );

const OF_TYPE = 'AND event_id IN (SELECT id FROM outbox_events WHERE account_id = :accountId AND type = :type)';

const buildLists = (name: string, condition: string) => ({
  all: buildList(name, condition),
  ofType: buildList(`${name}_typed`, `${condition} ${OF_TYPE}`),
});

/** The status is part of each statement, so that the partial indexes can be used. */
export const LISTS: Record<DeliveryStatus | 'any', ReturnType<typeof buildLists>> = {
  any: buildLists('all', ''),
  pending: buildLists('pending', `AND status = 'pending'`),
  succeeded: buildLists('succeeded', `AND status = 'succeeded'`),
  failed: buildLists('failed', `AND status = 'failed'`),
};

/** A list by type may read all deliveries of an endpoint: an account must not fill the connections of a process. */
const withListSlot = createAccountSlots(1, DB_WAIT_TIMEOUT);

/** Conditions of a list of deliveries. */
export interface DeliveryFilter {
  status?: DeliveryStatus;
  /** Type of the event. */
  type?: WebhookEventType | typeof WEBHOOK_TEST_TYPE;
}

/**
 * Lists the deliveries to an endpoint, newest first. `FILTERED_ITEMS_MAX` are counted and shown. The endpoint may be
 * the default one.
 * @throws ServiceError not_found when the account has no such endpoint, validation_error for a page after those.
 */
export async function listDeliveries(
  accountId: number,
  endpointUuid: string,
  page: number,
  { status, type }: DeliveryFilter = {},
): Promise<ListPage<ListedDelivery>> {
  const { id: endpointId } = await findEndpoint(accountId, endpointUuid);
  const { max, skip, limit } = buildFilterBindings({}, page);
  const statement = LISTS[status ?? 'any'][type === undefined ? 'all' : 'ofType'];
  const rows = await withListSlot(accountId, () =>
    runStatement<FilteredRow<ListedDelivery & { number: number }>>(statement, {
      endpointId,
      accountId,
      type,
      max,
      skip,
      limit,
    }),
  );
  return buildFilteredPage<ListedDelivery & { number: number }>(page, rows, 'Older deliveries are not listed.');
}

const READ_DELIVERY = prepared(
  'read_webhook_delivery',
  `SELECT ${COLUMNS}, d.attempt_log, e.body FROM webhook_deliveries d ${JOINS}
    WHERE d.uuid = :uuid AND d.endpoint_id = :endpointId`,
);

/**
 * Reads a delivery with its endpoint, which may be the default one.
 * @throws ServiceError not_found; insufficient_scope for an event that the caller may not read.
 */
export async function readDelivery(
  caller: Caller,
  endpointUuid: string,
  uuid: string,
): Promise<{ endpoint: WebhookEndpoint; delivery: DeliveryDetails }> {
  const endpoint = await findEndpoint(caller.accountId, endpointUuid);
  const [delivery] = await runStatement<DeliveryDetails>(READ_DELIVERY, { uuid, endpointId: endpoint.id });
  if (delivery === undefined) throw deliveryNotFoundError();
  assertReadable(caller, [delivery.type]);
  return { endpoint, delivery };
}

function deliveryNotFoundError(): ServiceError {
  return new ServiceError('not_found', 'Not found. This webhook endpoint has no delivery with that UUID.');
}

/**
 * Inserts the delivery of an event and makes its endpoint due. The transaction has locked the endpoint, so a worker
 * that claims at the same time finds the delivery.
 */
export async function insertDelivery(
  transaction: Transaction,
  endpoint: WebhookEndpoint,
  event: OutboxEvent,
): Promise<ListedDelivery> {
  const at = now();
  const { uuid } = await WebhookDelivery.query(transaction).insertAndFetch({
    endpoint_id: endpoint.id,
    event_id: event.id,
    next_attempt_at: at,
    created_at: at,
  });
  await makeDue(transaction, endpoint.id, at);
  return fetchListed(transaction, uuid);
}

/**
 * Delivers an event again, as a new round of attempts of the same delivery. Its `webhook-id` stays the same.
 * @throws ServiceError not_found; validation_error while the delivery is pending or its endpoint is disabled;
 *   insufficient_scope for an event that the caller may not read.
 */
export async function redeliver(caller: Caller, endpointUuid: string, deliveryUuid: string): Promise<ListedDelivery> {
  const redelivered = await withAccountOfCaller(caller, async (transaction) => {
    const endpoint = await WebhookEndpoint.query(transaction)
      .findOne({ account_id: caller.accountId, uuid: endpointUuid })
      .forNoKeyUpdate();
    if (endpoint === undefined) throw endpointNotFoundError();
    assertEnabled(endpoint);
    const at = now();
    const isRestarted = await WebhookDelivery.query(transaction)
      .where({ endpoint_id: endpoint.id, uuid: deliveryUuid })
      .whereIn('status', ['succeeded', 'failed'])
      .patch({ status: 'pending', attempts: 0, next_attempt_at: at, delivered_at: null });
    if (isRestarted === 0) throw await explainRejected(transaction, endpoint, deliveryUuid);
    await makeDue(transaction, endpoint.id, at);
    const listed = await fetchListed(transaction, deliveryUuid);
    assertReadable(caller, [listed.type]);
    return listed;
  });
  void enqueueWebhooks();
  return redelivered;
}

async function explainRejected(transaction: Transaction, { id }: WebhookEndpoint, uuid: string): Promise<ServiceError> {
  const pending = await WebhookDelivery.query(transaction).findOne({ endpoint_id: id, uuid });
  if (pending === undefined) return deliveryNotFoundError();
  return new ServiceError('validation_error', 'The delivery is still pending: it is attempted again by itself.');
}

const MAKE_DUE = prepared(
  'make_webhook_endpoint_due',
  `UPDATE webhook_endpoints SET next_delivery_at = least(next_delivery_at, cast(:at AS timestamptz)) WHERE id = :endpointId`,
);

async function makeDue(transaction: Transaction, endpointId: number, at: Date): Promise<void> {
  await runStatement(MAKE_DUE, { endpointId, at }, transaction);
}

const FETCH_LISTED = prepared(
  'fetch_webhook_delivery',
  `SELECT ${COLUMNS} FROM webhook_deliveries d ${JOINS} WHERE d.uuid = :uuid`,
);

async function fetchListed(transaction: Transaction, uuid: string): Promise<ListedDelivery> {
  return (await runStatement<ListedDelivery>(FETCH_LISTED, { uuid }, transaction))[0] as ListedDelivery;
}
