import { ensureModelsKnown } from '../catalog/knownModels.ts';
import { getPlanBySlug } from '../../lib/catalog/catalog.ts';
import type { Transaction } from 'objection';
import { presentApiKey } from '../../presenters/apiKey.ts';
import { type BillingStatusDetails, presentBillingStatus } from '../../presenters/billingStatus.ts';
import { presentGeneration, withoutFiles } from '../../presenters/generation.ts';
import { presentLedgerEntry } from '../../presenters/ledgerEntry.ts';
import {
  type EventFacts,
  presentCommission,
  presentLowCredits,
  presentPayout,
  presentTopup,
  type WebhookData,
} from '../../presenters/webhookData.ts';
import { type EventType, isWebhookEventType, type WebhookEventType } from '../../spec/events.ts';
import { listKeyLimits, type SpendingLimits } from '../spendingLimits/listSpendingLimits.ts';
import { ApiKey } from '../../tables/ApiKey.ts';
import { Generation } from '../../tables/Generation.ts';
import { LedgerEntry } from '../../tables/LedgerEntry.ts';
import type { OutboxEvent } from '../../tables/OutboxEvent.ts';

/** Rows that a batch of events is about, by account and subject. */
export interface EventSources {
  generations: ReadonlyMap<string, Generation>;
  keys: ReadonlyMap<string, ApiKey>;
  keyLimits: SpendingLimits;
  entries: ReadonlyMap<string, LedgerEntry>;
}

const END_TYPES: readonly EventType[] = ['generation.succeeded', 'generation.failed'];

/**
 * Reads the rows that events are about, in one query for each table. The queries are not prepared: they read whole
 * rows, and a prepared one fails once a migration of the next release has added a column.
 */
export async function readEventSources(transaction: Transaction, events: OutboxEvent[]): Promise<EventSources> {
  async function read<Row extends { account_id: number }>(
    types: readonly EventType[],
    query: (subjects: string[], accountIds: number[]) => PromiseLike<Row[]>,
    getSubject: (row: Row) => string | null,
  ): Promise<Map<string, Row>> {
    const selected = events.filter(({ type }) => types.includes(type));
    if (selected.length === 0) return new Map();
    const subjects = selected.map(({ subject }) => subject);
    const accountIds = [...new Set(selected.map(({ account_id: accountId }) => accountId))];
    const rows = await query(subjects, accountIds);
    return new Map(rows.map((row) => [`${row.account_id}:${getSubject(row)}`, row]));
  }
  const generations = await read(
    END_TYPES,
    (uuids, ids) => Generation.query(transaction).whereIn('uuid', uuids).whereIn('account_id', ids),
    ({ uuid }) => uuid,
  );
  await ensureModelsKnown([...generations.values()].map(({ model }) => model));
  const keys = await read(
    ['key.created', 'key.revoked'],
    (uuids, ids) => ApiKey.query(transaction).whereIn('uuid', uuids).whereIn('account_id', ids),
    ({ uuid }) => uuid,
  );
  return {
    generations,
    keys,
    keyLimits: await listKeyLimits([...keys.values()], transaction),
    entries: await read(
      ['credits.granted'],
      (keys, ids) => LedgerEntry.query(transaction).whereIn('effect_key', keys).whereIn('account_id', ids),
      ({ effect_key: key }) => key,
    ),
  };
}

/** Returns the row that an event is about. @throws Error if it does not exist */
function find<Row>(rows: ReadonlyMap<string, Row>, { account_id: accountId, subject }: OutboxEvent): Row {
  const row = rows.get(`${accountId}:${subject}`);
  if (row === undefined) throw new Error(`The subject ${subject} does not exist.`);
  return row;
}

/** The same row, with the details that events of its type have. */
function withDetails<Details>(event: OutboxEvent): EventFacts<Details> {
  return event as EventFacts<unknown> as EventFacts<Details>;
}

/** Returns the address that the event of a generation's end is sent to as well; null for others and without one. */
export function getWebhookUrl({ generations }: EventSources, event: OutboxEvent): string | null {
  // The subject of `credits.low` is a generation, too.
  return END_TYPES.includes(event.type) ? find(generations, event).webhook_url : null;
}

type BuildData<Type extends WebhookEventType> = (event: OutboxEvent, sources: EventSources) => WebhookData<Type>;

const BUILD_DATA: { [Type in WebhookEventType]: BuildData<Type> } = {
  'generation.succeeded': buildGenerationData,
  'generation.failed': buildGenerationData,
  'credits.low': (event) => presentLowCredits(withDetails(event)),
  'credits.granted': (event, { entries }) => presentLedgerEntry(find(entries, event)),
  'topup.succeeded': (event) => presentTopup(withDetails(event), 'succeeded'),
  'topup.failed': (event) => presentTopup(withDetails(event), 'failed'),
  'subscription.updated': buildBillingStatusData,
  'key.created': buildKeyData,
  'key.revoked': buildKeyData,
  'affiliate.commission': (event) => presentCommission(withDetails(event)),
  'affiliate.payout': (event) => presentPayout(withDetails(event)),
};

/** The files of a deleted generation are being removed, so their addresses are not sent. */
function buildGenerationData(event: OutboxEvent, { generations }: EventSources) {
  const generation = find(generations, event);
  return presentGeneration(generation.deleted_at === null ? generation : withoutFiles(generation));
}

function buildKeyData(event: OutboxEvent, { keys, keyLimits }: EventSources) {
  const key = find(keys, event);
  return presentApiKey(key, keyLimits.get(key.uuid));
}

function buildBillingStatusData(event: OutboxEvent) {
  const { details } = withDetails<BillingStatusDetails>(event);
  return presentBillingStatus({
    plan: details.plan_slug === null ? null : getPlanBySlug(details.plan_slug),
    status: details.status,
    currentPeriodEnd: details.current_period_end === null ? null : new Date(details.current_period_end),
    cancelAtPeriodEnd: details.cancel_at_period_end,
    hasPaymentMethod: details.has_payment_method,
  });
}

/**
 * Builds the message that webhooks send for an event; null for types that they do not send. @throws Error if it cannot.
 */
export function buildEventBody(event: OutboxEvent, sources: EventSources): string | null {
  const { type, created_at: timestamp } = event;
  return isWebhookEventType(type) ? JSON.stringify({ type, timestamp, data: BUILD_DATA[type](event, sources) }) : null;
}
