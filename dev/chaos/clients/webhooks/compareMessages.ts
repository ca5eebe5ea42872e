import { WEBHOOK_EVENT_TYPES, WEBHOOK_TEST_TYPE, type WebhookEventType } from '../../../../shared/spec/events.ts';
import type { ReceivedMessage } from '../../webhookReceiver.ts';
import type { ClientStore } from '../clientStore.ts';
import { findShapeProblem } from '../responseShapes.ts';
import type { ReportFunction } from '../violations.ts';
import { listPossibleStates, mayBeSubscribed } from './endpointHistory.ts';
import {
  DISPATCH_TRANSACTION_MS,
  type RecordedEnd,
  type RecordedEvent,
  type RecordedWebhooks,
} from './recordedEvents.ts';
import { findSignatureProblem, selectKeys } from './signatures.ts';
import { isGenerationEvent, parseWebhookBody, type WebhookBody, type WebhookTarget } from './webhookStore.ts';

/** A message to a deleted endpoint arrives at most this much later: its worker may have been paused meanwhile. */
const LATE_MESSAGE_MS = 60_000;

interface Facts {
  /** By uuid. */
  events: Map<string, RecordedEvent>;
  /** By generation. */
  ends: Map<string, RecordedEnd>;
}

/** Checks every message that the receiver recorded, whatever its response was. */
export function compareMessages(
  { webhooks: { messages, targets, defaultKeys } }: ClientStore,
  recorded: RecordedWebhooks,
  report: ReportFunction,
): void {
  const facts: Facts = {
    events: new Map(recorded.events.map((row) => [row.event, row])),
    ends: new Map(recorded.ends.map((row) => [row.uuid, row])),
  };
  const bodies = new Map<string, string>();
  const ids = new Map<string, string>();
  for (const message of messages) {
    const { token, id, body: text } = message;
    const target = targets.get(token);
    const subject = `${id} to ${token}`;
    const body = parseWebhookBody(text);
    if (target === undefined || body === null) {
      const detail = target === undefined ? 'no client gave this address' : `its body is ${text.slice(0, 200)}`;
      report('webhook-event-is-known', target?.accountUuid ?? '', subject, detail);
      continue;
    }
    const { accountUuid, endpoint } = target;
    const problem = findEventProblem(message, body, target, facts);
    if (problem !== null) report('webhook-event-is-known', accountUuid, subject, problem);
    const firstBody = bodies.get(id) ?? text;
    bodies.set(id, firstBody);
    if (firstBody !== text) report('webhook-id-is-stable', accountUuid, subject, `${firstBody}, and then ${text}`);
    if (isGenerationEvent(body.type)) {
      const key = `${endpoint?.uuid ?? token} ${body.type} ${String(body.data['uuid'])}`;
      const firstId = ids.get(key) ?? id;
      ids.set(key, firstId);
      if (firstId !== id) report('webhook-id-is-stable', accountUuid, key, `${firstId}, and then ${id}`);
    }
    const keys = endpoint === null ? getDefaultKeys(defaultKeys.get(accountUuid)) : selectKeys(endpoint, message.at);
    const signature = keys === null ? null : findSignatureProblem(message, keys);
    if (signature !== null) report('webhook-is-signed', accountUuid, subject, signature);
  }
}

function getDefaultKeys<Keys>(keys: Keys | undefined): readonly Keys[] | null {
  return keys === undefined ? null : [keys];
}

/** Describes the reason why a message must not exist; null if there is none. */
function findEventProblem(
  message: ReceivedMessage,
  { type, data }: WebhookBody,
  target: WebhookTarget,
  { events, ends }: Facts,
): string | null {
  const event = message.id.startsWith('msg_') ? events.get(message.id.slice('msg_'.length)) : undefined;
  if (event === undefined) return 'no such event was recorded';
  if (event.type !== type) return `the type is ${type} instead of ${event.type}`;
  if (event.account_uuid !== target.accountUuid) return `the event belongs to the account ${event.account_uuid}`;
  const isTest = type === WEBHOOK_TEST_TYPE;
  if (!isTest && !(WEBHOOK_EVENT_TYPES as readonly string[]).includes(type)) return `webhooks have no type ${type}`;
  if (isGenerationEvent(type)) {
    const problem = findGenerationProblem(type, data, event, ends.get(event.subject));
    if (problem !== null) return problem;
  }
  if (target.endpoint !== null) return isTest ? null : findSubscriptionProblem(message, event, target.endpoint);
  const prompt = ends.get(event.subject)?.prompt;
  return isGenerationEvent(type) && prompt === target.prompt
    ? null
    : `is about "${prompt}", and the address belongs to "${target.prompt}"`;
}

function findGenerationProblem(
  type: string,
  data: WebhookBody['data'],
  { subject, account_uuid: accountUuid }: RecordedEvent,
  end: RecordedEnd | undefined,
): string | null {
  if (end === undefined) return `the generation ${subject} has not ended`;
  if (end.account_uuid !== accountUuid) return `the generation ${subject} belongs to the account ${end.account_uuid}`;
  if (type !== `generation.${end.status}`) return `the generation ${subject} has ${end.status}`;
  if (data['uuid'] !== subject || data['status'] !== end.status)
    return `data contains the generation ${String(data['uuid'])} with status ${String(data['status'])}`;
  if (data['prompt'] !== end.prompt) return `data contains the prompt "${String(data['prompt'])}"`;
  return findShapeProblem('generation', data);
}

/** Finds events of a type that an endpoint certainly did not receive when they were dispatched, and late messages. */
function findSubscriptionProblem(
  { at }: ReceivedMessage,
  event: RecordedEvent,
  { uuid, changes }: NonNullable<WebhookTarget['endpoint']>,
): string | null {
  if (uuid === null) return null;
  const dispatched = (event.dispatched_at ?? at) + DISPATCH_TRANSACTION_MS;
  if (!mayBeSubscribed(changes, event.type as WebhookEventType, event.recorded_at, dispatched))
    return `the endpoint ${uuid} was not subscribed to ${event.type}`;
  const { states, mayBeMissing } = listPossibleStates(changes, at - LATE_MESSAGE_MS, at);
  return !mayBeMissing && states.every(({ isDeleted }) => isDeleted) ? `the endpoint ${uuid} was deleted before` : null;
}
