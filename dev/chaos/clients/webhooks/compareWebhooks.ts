import type { Queryable } from '../../../../shared/domain/invariant.ts';
import { WEBHOOK_EVENT_TYPES, WEBHOOK_TEST_TYPE, type WebhookEventType } from '../../../../shared/spec/events.ts';
import type { ReportFunction } from '../../rules.ts';
import type { ReceivedMessage } from '../../webhookReceiver.ts';
import type { Journal, ObservedEndpoint, WebhookJournal, WebhookTarget } from '../journal.ts';
import { findOutputProblem } from '../responseSchemas.ts';
import { isSubscribed, listPossibleStates } from './endpointHistory.ts';
import { findSignatureProblem, isGenerationEvent, parseWebhookBody, selectKeys, type WebhookBody } from './messages.ts';

/** A dispatch reads the endpoints at most this long after it has marked its events. */
const DISPATCH_TRANSACTION_MS = 10_000;
/** A message to a deleted endpoint arrives at most this much later: its worker may have been paused meanwhile. */
const LATE_MESSAGE_MS = 60_000;

/** The end of a generation. Times are by the clock of Postgres, in milliseconds, as of `Date.now`. */
export interface RecordedEnd {
  uuid: string;
  account_uuid: string;
  status: 'succeeded' | 'failed';
  prompt: string;
  /** Start of the statement that ended it. */
  began_at: number;
}

/** An event of the outbox, which the service may have deleted since. Times as above. */
export interface RecordedEvent {
  event: string;
  account_uuid: string;
  type: string;
  subject: string;
  recorded_at: number;
  /** Null: not dispatched. */
  dispatched_at: number | null;
}

/** The database's side of all webhooks, from the audit log of chaos and the tables of the service. */
interface RecordedWebhooks {
  ends: RecordedEnd[];
  events: RecordedEvent[];
  /** Endpoints that the service has disabled. */
  disabled: { uuid: string }[];
}

const toMs = (time: string) => `extract(epoch FROM ${time})::float8 * 1000`;

/** Compares the messages that the receiver recorded with the database, when all work has settled. */
export async function compareWebhooks(journal: Journal, client: Queryable, report: ReportFunction): Promise<void> {
  const { webhooks } = journal;
  if (webhooks.targets.size === 0) return;
  const ends = await client.query(
    `SELECT n.generation AS uuid, a.uuid AS account_uuid, n.status, p.prompt, ${toMs('n.began_at')} AS began_at
       FROM chaos.ends n JOIN accounts a ON a.id = n.account JOIN chaos.prompts p ON p.generation = n.generation`,
  );
  const events = await client.query(
    `SELECT e.event, a.uuid AS account_uuid, e.type, e.subject, ${toMs('e.recorded_at')} AS recorded_at,
            ${toMs('e.dispatched_at')} AS dispatched_at
       FROM chaos.events e JOIN accounts a ON a.id = e.account`,
  );
  const disabled = await client.query(`SELECT uuid FROM webhook_endpoints WHERE disabled_reason <> 'owner'`);
  const recorded: RecordedWebhooks = { ends: ends.rows, events: events.rows, disabled: disabled.rows };
  await compareMessages(webhooks, recorded, report);
  webhooks.required = findMissingMessages(journal, recorded, report);
}

/** Checks every message that the receiver recorded, whatever its response was. */
async function compareMessages(
  { messages, targets, defaultKeys }: WebhookJournal,
  recorded: RecordedWebhooks,
  report: ReportFunction,
): Promise<void> {
  const events = new Map(recorded.events.map((row) => [row.event, row]));
  const ends = new Map(recorded.ends.map((row) => [row.uuid, row]));
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
    const event = id.startsWith('msg_') ? events.get(id.slice('msg_'.length)) : undefined;
    const problem = findEventProblem(message, body, target, event, ends.get(event?.subject ?? ''));
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
    const known = defaultKeys.get(accountUuid);
    const keys = endpoint !== null ? selectKeys(endpoint, message.at) : known === undefined ? null : [known];
    const signature = keys === null ? null : await findSignatureProblem(message, keys);
    if (signature !== null) report('webhook-is-signed', accountUuid, subject, signature);
  }
}

/** Describes the reason why a message must not exist; null if there is none. */
function findEventProblem(
  message: ReceivedMessage,
  { type, data }: WebhookBody,
  { accountUuid, endpoint, prompt }: WebhookTarget,
  event: RecordedEvent | undefined,
  end: RecordedEnd | undefined,
): string | null {
  if (event === undefined) return 'no such event was recorded';
  if (event.type !== type) return `the type is ${type} instead of ${event.type}`;
  if (event.account_uuid !== accountUuid) return `the event belongs to the account ${event.account_uuid}`;
  const isTest = type === WEBHOOK_TEST_TYPE;
  if (!isTest && !(WEBHOOK_EVENT_TYPES as readonly string[]).includes(type)) return `webhooks have no type ${type}`;
  const problem = isGenerationEvent(type) ? findGenerationProblem(type, data, event, end) : null;
  if (problem !== null) return problem;
  if (endpoint !== null) return isTest ? null : findSubscriptionProblem(message, event, endpoint);
  if (isGenerationEvent(type) && end?.prompt === prompt) return null;
  return `is about "${end?.prompt}", and the address belongs to "${prompt}"`;
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
  if (data['uuid'] !== subject || data['status'] !== end.status || data['prompt'] !== end.prompt)
    return `data contains ${String(data['uuid'])}, ${String(data['status'])} and "${String(data['prompt'])}"`;
  return findOutputProblem('generation', data);
}

/** Finds events of a type that an endpoint certainly did not receive when they were dispatched, and late messages. */
function findSubscriptionProblem(
  { at }: ReceivedMessage,
  event: RecordedEvent,
  { uuid, changes }: ObservedEndpoint,
): string | null {
  if (uuid === null) return null;
  const dispatched = (event.dispatched_at ?? at) + DISPATCH_TRANSACTION_MS;
  const states = listPossibleStates(changes, event.recorded_at, dispatched);
  if (!states.some((state) => isSubscribed(state, event.type as WebhookEventType)))
    return `the endpoint ${uuid} was not subscribed to ${event.type}`;
  const isDeleted = listPossibleStates(changes, at - LATE_MESSAGE_MS, at).every((state) => state?.isDeleted === true);
  return isDeleted ? `the endpoint ${uuid} was deleted before` : null;
}

/**
 * Checks that the end of each generation arrived where it had to. What changed around the end, or was disabled or
 * deleted later, may have missed it.
 * @returns the number of messages that had to arrive.
 */
function findMissingMessages(
  { webhooks, createsByPrompt }: Journal,
  { ends, events, disabled }: RecordedWebhooks,
  report: ReportFunction,
): number {
  const accepted = new Set(
    webhooks.messages.flatMap(({ isAccepted, token, body }) => {
      const { type, data } = (isAccepted ? parseWebhookBody(body) : null) ?? {};
      return type === undefined ? [] : [`${token} ${type} ${String(data?.['uuid'])}`];
    }),
  );
  const dispatchedAt = new Map(events.map((row) => [`${row.type} ${row.subject}`, row.dispatched_at]));
  const disabledUuids = new Set(disabled.map(({ uuid }) => uuid));
  let required = 0;
  const requireMessage = (end: RecordedEnd, tokens: readonly string[], recipient: string) => {
    required += 1;
    const type = `generation.${end.status}`;
    if (tokens.some((token) => accepted.has(`${token} ${type} ${end.uuid}`))) return;
    const attempts = webhooks.messages
      .filter(({ token, body }) => tokens.includes(token) && body.includes(end.uuid))
      .map(({ response }) => response);
    const at = dispatchedAt.get(`${type} ${end.uuid}`);
    const dispatch =
      at === undefined ? 'no event was recorded' : at === null ? 'it was not dispatched' : 'it was dispatched';
    const detail = `${type} was not accepted; ${dispatch}; attempts: ${attempts.join(', ') || 'none'}`;
    report('ended-generation-is-announced', end.account_uuid, `${end.uuid} to ${recipient}`, detail);
  };
  for (const end of ends) {
    const token = createsByPrompt.get(end.prompt)?.webhookToken ?? null;
    if (token !== null) requireMessage(end, [token], 'its webhook_url');
    const type = `generation.${end.status}` as WebhookEventType;
    const dispatched = (dispatchedAt.get(`${type} ${end.uuid}`) ?? Infinity) + DISPATCH_TRANSACTION_MS;
    for (const { accountUuid, uuid, changes, tokens } of webhooks.endpoints) {
      if (accountUuid !== end.account_uuid || uuid === null || disabledUuids.has(uuid)) continue;
      if (!listPossibleStates(changes, end.began_at, Infinity).every((state) => isSubscribed(state))) continue;
      if (!listPossibleStates(changes, end.began_at, dispatched).every((state) => isSubscribed(state, type))) continue;
      requireMessage(end, tokens, `endpoint ${uuid}`);
    }
  }
  return required;
}
