import type { Transaction } from 'objection';
import { v7 as uuidv7 } from 'uuid';
import { now } from '../../lib/clock.ts';
import { prepared } from '../../lib/database/preparedStatements.ts';
import { runInBatches, STATEMENT_BATCH_SIZE } from '../../lib/database/runInBatches.ts';
import { type ListPage, paginate } from '../../lib/pagination.ts';
import { presentWebhookEndpoint } from '../../presenters/webhookEndpoint.ts';
import { enqueueWebhooks } from '../../queues/enqueue.ts';
import { ServiceError } from '../../spec/errors.ts';
import { type EventType, WEBHOOK_TEST_TYPE, type WebhookEventType } from '../../spec/events.ts';
import { WEBHOOK_ENDPOINTS_MAX } from '../../spec/limits.ts';
import { OutboxEvent } from '../../tables/OutboxEvent.ts';
import { WebhookDelivery } from '../../tables/WebhookDelivery.ts';
import { WebhookEndpoint } from '../../tables/WebhookEndpoint.ts';
import { assertNotDeleting } from '../accounts/accounts.ts';
import { buildServiceCaller, type Caller } from '../accounts/caller.ts';
import { withAccountOfCaller } from '../accounts/lockedCredentials.ts';
import { type RequestOrigin, SERVICE_ORIGIN } from '../accounts/securityEvents.ts';
import { assertFormNotStale } from '../accounts/staleForm.ts';
import { insertDelivery, type ListedDelivery } from './deliveries.ts';
import { disableEndpoint, enableEndpoint, updateWebhookCount } from './endpointState.ts';
import { assertEnabled, endpointNotFoundError, queryManagedEndpoints } from './findEndpoint.ts';
import { assertReadable, chooseTypes, listHiddenTypes } from './readableTypes.ts';
import { type EndpointWithSecret, recordEndpointChange, replaceKeys } from './rotateSecret.ts';
import { generateSigningKeys, sealKeys } from './signingKeys.ts';
import { parseWebhookUrl } from './webhookUrl.ts';

/** Fields of an endpoint that its owner chooses. */
export interface EndpointInput {
  url: string;
  /**
   * Types of events that it receives; null: all, including those that are added later, or those that its caller may
   * read.
   */
  events?: readonly WebhookEventType[] | null;
  description?: string;
}

export interface EndpointOptions {
  origin?: RequestOrigin;
  /** May write more rows in the same transaction. */
  onDone?: (transaction: Transaction, result: EndpointWithSecret) => Promise<void>;
}

/**
 * Creates an endpoint. Its secret is returned only here.
 * @param caller whose credential must not have been changed or revoked meanwhile, as of all changes here.
 * @throws ServiceError validation_error when the account has 10 endpoints, or is being deleted, or for an address that
 *   cannot receive webhooks; insufficient_scope for types of events that the caller may not read.
 */
export async function createEndpoint(
  caller: Caller,
  { url, events, description = '' }: EndpointInput,
  { origin = SERVICE_ORIGIN, onDone = async () => {} }: EndpointOptions = {},
): Promise<EndpointWithSecret> {
  const { accountId } = caller;
  const address = parseWebhookUrl(url);
  return withAccountOfCaller(caller, async (transaction, account) => {
    assertNotDeleting(account, 'url');
    if ((await queryManagedEndpoints(accountId, transaction).resultSize()) >= WEBHOOK_ENDPOINTS_MAX) {
      const detail = `url: the account already has ${WEBHOOK_ENDPOINTS_MAX} webhook endpoints, the maximum. Delete one first.`;
      throw new ServiceError('validation_error', detail, { field: 'url' });
    }
    const uuid = uuidv7();
    const keys = generateSigningKeys();
    const at = now();
    const endpoint = await WebhookEndpoint.query(transaction).insertAndFetch({
      uuid,
      account_id: accountId,
      url: address,
      events: chooseTypes(caller, events),
      description,
      ...sealKeys(uuid, keys),
      created_at: at,
      updated_at: at,
    });
    await updateWebhookCount(transaction, accountId);
    await recordEndpointChange(transaction, endpoint, 'webhook_created', origin);
    const created = { endpoint, secret: keys.secret };
    await onDone(transaction, created);
    return created;
  });
}

/** Lists the endpoints of an account, newest first. There are at most `WEBHOOK_ENDPOINTS_MAX`. */
export async function listEndpoints(accountId: number, page: number): Promise<ListPage<WebhookEndpoint>> {
  return paginate(await queryManagedEndpoints(accountId).orderBy('id', 'desc'), page);
}

/**
 * Finds an endpoint of an account that fails, or that the service has disabled because of that: the first one that did.
 */
export async function findFailingEndpoint(accountId: number): Promise<WebhookEndpoint | undefined> {
  return queryManagedEndpoints(accountId)
    .whereRaw(`(disabled_reason IN ('gone', 'failing') OR disabled_at IS NULL AND failing_since IS NOT NULL)`)
    .orderByRaw('coalesce(failing_since, disabled_at)')
    .first();
}

/** @throws ServiceError not_found when the account has no such endpoint. */
export async function getEndpoint(accountId: number, uuid: string): Promise<WebhookEndpoint> {
  const endpoint = await queryManagedEndpoints(accountId).findOne({ uuid });
  if (endpoint === undefined) throw endpointNotFoundError();
  return endpoint;
}

/**
 * Changes an endpoint; fields that are not given stay as they are. Disabling it fails its pending deliveries.
 * @throws ServiceError not_found; validation_error for an address that cannot receive webhooks, or if the settings
 *   would be changed and are not the expected ones (`formatEndpointState`); insufficient_scope if
 *   it receives, or would receive, events that the caller may not read.
 */
export async function updateEndpoint(
  caller: Caller,
  uuid: string,
  { url, events, description, enabled }: Partial<EndpointInput> & { enabled?: boolean },
  { origin = SERVICE_ORIGIN, expected }: Pick<EndpointOptions, 'origin'> & { expected?: string | undefined } = {},
): Promise<WebhookEndpoint> {
  const address = url === undefined ? undefined : parseWebhookUrl(url);
  return changeEndpoint(caller, uuid, async (transaction, endpoint) => {
    const isMoved = address !== undefined && address !== endpoint.url;
    assertReadable(caller, endpoint.events);
    // It no longer receives their types, but the next attempts would go to the other address.
    if (isMoved) assertReadable(caller, await listHiddenPending(transaction, caller, endpoint));
    const changes = {
      // Failures of the former address do not count for another one.
      ...(isMoved ? { url: address, failing_since: null } : {}),
      ...(events === undefined ? {} : { events: chooseTypes(caller, events) }),
      ...(description === undefined ? {} : { description }),
    };
    const present = formatEndpointState(endpoint);
    const intended = formatEndpointState(endpoint, changes);
    assertFormNotStale('This endpoint was changed', { expected, present, intended });
    let changed = await endpoint.$query(transaction).patchAndFetch({ ...changes, updated_at: now() });
    if (isMoved) await recordEndpointChange(transaction, changed, 'webhook_url_changed', origin);
    const isEnabled = changed.disabled_at === null;
    if (enabled === true && !isEnabled) changed = await enableEndpoint(transaction, changed);
    if (enabled === false && isEnabled) changed = await disableEndpoint(transaction, changed, 'owner');
    return changed;
  });
}

type EndpointSettings = Pick<WebhookEndpoint, 'url' | 'events' | 'description'>;

/** Returns the settings of an endpoint, after some changes, as a text with which a form notices others. */
export function formatEndpointState(
  { url, events, description }: EndpointSettings,
  changes: Partial<EndpointSettings> = {},
): string {
  return JSON.stringify({ url, events, description, ...changes });
}

/** Lists the types of pending deliveries that a caller may not read. */
async function listHiddenPending(
  transaction: Transaction,
  caller: Caller,
  { id, account_id: accountId }: WebhookEndpoint,
): Promise<EventType[]> {
  const hidden = listHiddenTypes(caller);
  if (hidden.length === 0) return [];
  const pending = await OutboxEvent.query(transaction)
    .where({ account_id: accountId })
    .whereIn('type', hidden)
    .whereIn('id', WebhookDelivery.query(transaction).select('event_id').where({ endpoint_id: id, status: 'pending' }))
    .select('type')
    .first();
  return pending === undefined ? [] : [pending.type];
}

// Outcomes of attempts in flight are recorded in another order: waiting for their rows could deadlock.
const DELETE_DELIVERIES = prepared(
  'delete_webhook_deliveries',
  `DELETE FROM webhook_deliveries
    WHERE id IN (SELECT id FROM webhook_deliveries WHERE endpoint_id = :endpointId
                  LIMIT ${STATEMENT_BATCH_SIZE} FOR UPDATE SKIP LOCKED)
   RETURNING id`,
);

/**
 * Deletes an endpoint with its deliveries. Most of them are deleted before, in batches, because there can be too many
 * for one statement.
 * @throws ServiceError not_found
 */
export async function deleteEndpoint(
  caller: Caller,
  uuid: string,
  { origin = SERVICE_ORIGIN }: Pick<EndpointOptions, 'origin'> = {},
): Promise<void> {
  const { accountId } = caller;
  const { id: endpointId } = await changeEndpoint(caller, uuid, async (_transaction, endpoint) => endpoint);
  await runInBatches(DELETE_DELIVERIES, { endpointId });
  // The credential allowed the deletion of the deliveries, which is not undone.
  await changeEndpoint(buildServiceCaller(accountId), uuid, async (transaction, endpoint) => {
    await endpoint.$query(transaction).delete();
    await updateWebhookCount(transaction, accountId);
    await recordEndpointChange(transaction, endpoint, 'webhook_deleted', origin);
  });
}

/**
 * Replaces the keys of an endpoint. The former ones sign as well for 24 hours.
 * @throws ServiceError not_found; insufficient_scope as {@link updateEndpoint}
 */
export async function rotateSecret(
  caller: Caller,
  uuid: string,
  { origin = SERVICE_ORIGIN, onDone = async () => {} }: EndpointOptions = {},
): Promise<EndpointWithSecret> {
  return changeEndpoint(caller, uuid, async (transaction, endpoint) => {
    assertReadable(caller, endpoint.events);
    const rotated = await replaceKeys(transaction, endpoint, origin);
    await onDone(transaction, rotated);
    return rotated;
  });
}

/**
 * Sends an event of the type `webhook.test` to an endpoint, whatever types it receives. Its data is the endpoint.
 * @throws ServiceError not_found, or validation_error while the endpoint is disabled.
 */
export async function sendTestEvent(caller: Caller, uuid: string): Promise<ListedDelivery> {
  const { accountId } = caller;
  const delivery = await changeEndpoint(caller, uuid, async (transaction, endpoint) => {
    assertEnabled(endpoint);
    const at = now();
    const event = await OutboxEvent.query(transaction).insertAndFetch({
      account_id: accountId,
      type: WEBHOOK_TEST_TYPE,
      subject: uuidv7(),
      details: {},
      body: JSON.stringify({ type: WEBHOOK_TEST_TYPE, timestamp: at, data: presentWebhookEndpoint(endpoint) }),
      created_at: at,
      // Its delivery is inserted here.
      dispatched_at: at,
    });
    return insertDelivery(transaction, endpoint, event);
  });
  void enqueueWebhooks();
  return delivery;
}

/**
 * Runs a change of an endpoint with the account and the endpoint locked, in this order.
 * @throws ServiceError if the credential of the caller was changed or revoked meanwhile
 */
async function changeEndpoint<Result>(
  caller: Caller,
  uuid: string,
  change: (transaction: Transaction, endpoint: WebhookEndpoint) => Promise<Result>,
): Promise<Result> {
  return withAccountOfCaller(caller, async (transaction) => {
    const endpoint = await queryManagedEndpoints(caller.accountId, transaction).findOne({ uuid }).forNoKeyUpdate();
    if (endpoint === undefined) throw endpointNotFoundError();
    return change(transaction, endpoint);
  });
}
