import type { Queryable } from '../../../../shared/domain/invariant.ts';
import type { WebhookEventType } from '../../../../shared/spec/events.ts';
import type { ReceivedMessage } from '../../webhookReceiver.ts';
import type { ClientStore } from '../clientStore.ts';
import type { ReportFunction } from '../violations.ts';
import { compareMessages } from './compareMessages.ts';
import { isCertainlyEnabled, isCertainlySubscribed } from './endpointHistory.ts';
import {
  DISPATCH_TRANSACTION_MS,
  readRecordedWebhooks,
  type RecordedEnd,
  type RecordedWebhooks,
} from './recordedEvents.ts';
import { type ObservedEndpoint, parseWebhookBody, type WebhookStore } from './webhookStore.ts';

/** Compares the messages that the receiver recorded with the database, when all work has settled. */
export async function compareWebhooks(store: ClientStore, client: Queryable, report: ReportFunction): Promise<void> {
  if (store.webhooks.targets.size === 0) return;
  const recorded = await readRecordedWebhooks(client);
  compareMessages(store, recorded, report);
  compareEndpoints(store.webhooks, recorded, report);
  compareDeliveries(store.webhooks, recorded, report);
  store.webhooks.required = findMissingMessages(store, recorded, report);
}

/**
 * Checks that the end of each generation arrived where it had to. What changed around the end, or was disabled or
 * deleted later, may have missed it.
 * @returns the number of messages that had to arrive.
 */
function findMissingMessages(
  { webhooks, createsByPrompt }: ClientStore,
  { ends, events, endpoints }: RecordedWebhooks,
  report: ReportFunction,
): number {
  const accepted = indexAccepted(webhooks.messages);
  const dispatchedAt = new Map(events.map((row) => [`${row.type} ${row.subject}`, row.dispatched_at]));
  const disabled = new Set(
    endpoints.filter(({ disabled_reason: reason }) => reason !== null && reason !== 'owner').map(({ uuid }) => uuid),
  );
  let required = 0;
  const requireMessage = (end: RecordedEnd, tokens: readonly string[], recipient: string) => {
    required += 1;
    const type = `generation.${end.status}`;
    if (tokens.some((token) => accepted.has(`${token} ${type} ${end.uuid}`))) return;
    const attempts = webhooks.messages
      .filter(({ token, body }) => tokens.includes(token) && body.includes(end.uuid))
      .map(({ response }) => response);
    const dispatch = dispatchedAt.get(`${type} ${end.uuid}`);
    report(
      'ended-generation-is-announced',
      end.account_uuid,
      `${end.uuid} to ${recipient}`,
      `${type} was not accepted; ${dispatch === undefined ? 'no event was recorded' : dispatch === null ? 'its event was not dispatched' : 'its event was dispatched'}; attempts: ${attempts.join(', ') || 'none'}`,
    );
  };
  for (const end of ends) {
    const token = createsByPrompt.get(end.prompt)?.webhookToken ?? null;
    if (token !== null) requireMessage(end, [token], 'its webhook_url');
    const type = `generation.${end.status}` as WebhookEventType;
    const dispatched = dispatchedAt.get(`${type} ${end.uuid}`) ?? Number.POSITIVE_INFINITY;
    for (const { accountUuid, uuid, changes, tokens } of webhooks.endpoints) {
      if (accountUuid !== end.account_uuid || uuid === null || disabled.has(uuid)) continue;
      if (!isCertainlyEnabled(changes, end.began_at, Number.POSITIVE_INFINITY)) continue;
      if (!isCertainlySubscribed(changes, type, end.began_at, dispatched + DISPATCH_TRANSACTION_MS)) continue;
      requireMessage(end, tokens, `endpoint ${uuid}`);
    }
  }
  return required;
}

/** Accepted messages by token, type and generation. */
function indexAccepted(messages: readonly ReceivedMessage[]): Set<string> {
  const accepted = messages.filter(({ isAccepted }) => isAccepted);
  return new Set(
    accepted.flatMap(({ token, body }) => {
      const parsed = parseWebhookBody(body);
      return parsed === null ? [] : [`${token} ${parsed.type} ${String(parsed.data['uuid'])}`];
    }),
  );
}

/** Checks that acknowledged changes of endpoints hold, and that the service disabled none of them. */
function compareEndpoints({ endpoints }: WebhookStore, recorded: RecordedWebhooks, report: ReportFunction): void {
  const rows = new Map(recorded.endpoints.map((row) => [row.uuid, row]));
  for (const { accountUuid, uuid, changes } of endpoints) {
    if (uuid === null) continue;
    const row = rows.get(uuid);
    if (row !== undefined && row.disabled_reason !== null && row.disabled_reason !== 'owner') {
      const detail = `${row.disabled_reason}, although its receiver has not failed for five days`;
      report('failing-endpoint-has-failed', accountUuid, uuid, detail);
      continue;
    }
    const last = changes.at(-1);
    if (last === undefined || last.confirmedAt === null) continue;
    const { token, isDeleted, isEnabled, events } = last.state;
    const isSame = isDeleted
      ? row === undefined
      : row !== undefined &&
        (row.disabled_reason === null) === isEnabled &&
        row.url.endsWith(`/${token}`) &&
        JSON.stringify(row.events) === JSON.stringify(events);
    if (isSame) continue;
    const detail = `changed to ${JSON.stringify(last.state)}; in the database ${JSON.stringify(row)}`;
    report('endpoint-change-holds', accountUuid, uuid, detail);
  }
}

/** Checks that each delivery that counts as succeeded was accepted. */
function compareDeliveries(
  { endpoints, targets, messages }: WebhookStore,
  recorded: RecordedWebhooks,
  report: ReportFunction,
) {
  const known = new Map(endpoints.filter(isKnown).map((endpoint) => [endpoint.uuid, endpoint]));
  const accepted = new Set<string>();
  const acceptedByDefault = new Set<string>();
  for (const { token, id } of messages.filter(({ isAccepted }) => isAccepted)) {
    accepted.add(`${token} ${id}`);
    const target = targets.get(token);
    if (target?.endpoint === null) acceptedByDefault.add(`${target.accountUuid} ${id}`);
  }
  for (const { event, endpoint, is_default: isDefault, account_uuid: account, status } of recorded.deliveries) {
    const tokens = known.get(endpoint)?.tokens;
    if (status !== 'succeeded' || (!isDefault && tokens === undefined)) continue;
    const isAccepted = isDefault
      ? acceptedByDefault.has(`${account} msg_${event}`)
      : tokens?.some((token) => accepted.has(`${token} msg_${event}`)) === true;
    if (!isAccepted)
      report('succeeded-delivery-was-accepted', account, `event ${event} to ${endpoint}`, 'was not accepted');
  }
}

function isKnown(endpoint: ObservedEndpoint): endpoint is ObservedEndpoint & { uuid: string } {
  return endpoint.uuid !== null;
}
