import type { Transaction } from 'objection';
import { createBatcher } from '../../lib/batcher.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { isRejection } from '../../lib/database/errors.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { runInBatches, STATEMENT_BATCH_SIZE } from '../../lib/database/runInBatches.ts';
import { isDraining } from '../../lib/drain.ts';
import { logger } from '../../lib/logger.ts';
import { getBackoffMs } from '../../lib/retryBackoff.ts';
import { enqueueWebhooks } from '../../queues/enqueue.ts';
import { DAY_MS, HOUR_MS } from '../../spec/durations.ts';
import { OutboxEvent } from '../../tables/OutboxEvent.ts';
import { ensureDefaultEndpoint } from './defaultEndpoint.ts';
import { buildEventBody, type EventSources, getWebhookUrl, readEventSources } from './eventData.ts';
import { type DispatchedEvent, writeDispatch } from './writeDispatch.ts';

/** Events that one transaction dispatches. */
const BATCH_SIZE = 200;
const RETRY_BACKOFF = { minMs: 5_000, maxMs: HOUR_MS };

/**
 * Dispatches recorded events: creates the deliveries and messages that follow from them. Calls during a run share the
 * next one, so that a process has one at a time. Processes skip events that another one has locked.
 */
export async function dispatchEvents(): Promise<void> {
  await dispatchForCall(null);
}

const dispatchForCall = createBatcher<null, void>({
  maxItems: Number.MAX_SAFE_INTEGER,
  maxInFlight: 1,
  run: async () => {
    await dispatchDueEvents();
    return [];
  },
});

async function dispatchDueEvents(): Promise<void> {
  while ((await tryDispatchBatch()) === BATCH_SIZE && !isDraining());
}

/** Dispatches a batch; one by one if the database rejects it, so that one event does not block others. */
async function tryDispatchBatch(): Promise<number> {
  try {
    return await dispatchBatch(BATCH_SIZE);
  } catch (err) {
    if (!isRejection(err)) throw err;
    logger.error({ err }, 'batch of events not dispatched; dispatching them one by one');
    return dispatchOneByOne();
  }
}

/** Locks events that are due, and skips those that another process has locked. */
function claimEvents(transaction: Transaction, limit: number, id: number | null) {
  return OutboxEvent.query(transaction)
    .where('next_attempt_at', '<=', now())
    .modify((due) => void (id !== null && due.where({ id })))
    .orderBy(['next_attempt_at', 'id'])
    .limit(limit)
    .forNoKeyUpdate()
    .skipLocked();
}

/** @returns the number of claimed events. */
async function dispatchBatch(limit: number, id: number | null = null): Promise<number> {
  const { count, deliveries } = await OutboxEvent.transaction(async (transaction) => {
    const events = await claimEvents(transaction, limit, id);
    if (events.length === 0) return { count: 0, deliveries: 0 };
    const sources = await readEventSources(transaction, events);
    const dispatched: DispatchedEvent[] = [];
    for (const event of events) {
      try {
        dispatched.push(buildDispatch(event, sources));
      } catch (err) {
        await recordFailure(event, err, transaction);
      }
    }
    const addressed = dispatched.filter(({ webhook_url: url }) => url !== null);
    const owners = addressed.map(({ account_id: accountId }) => accountId);
    if (owners.length > 0) await ensureDefaultEndpoint(transaction, owners);
    return { count: events.length, deliveries: await writeDispatch(transaction, dispatched) };
  });
  if (deliveries > 0) void enqueueWebhooks();
  return count;
}

function buildDispatch(event: OutboxEvent, sources: EventSources): DispatchedEvent {
  const { id, account_id, type, subject, details, may_email, created_at } = event;
  const body = buildEventBody(event, sources);
  const webhookUrl = getWebhookUrl(sources, event);
  return { id, account_id, type, subject, details, may_email, created_at, body, webhook_url: webhookUrl };
}

async function dispatchOneByOne(): Promise<number> {
  const due = await OutboxEvent.query()
    .where('next_attempt_at', '<=', now())
    .orderBy(['next_attempt_at', 'id'])
    .limit(BATCH_SIZE);
  for (const event of due) {
    try {
      await dispatchBatch(1, event.id);
    } catch (err) {
      if (!isRejection(err)) throw err;
      await recordFailure(event, err);
    }
  }
  return due.length;
}

const RECORD_FAILURE = prepared(
  'record_event_failure',
  `UPDATE outbox_events SET attempts = attempts + 1, next_attempt_at = :nextAttemptAt, last_error = :lastError
    WHERE id = :id AND next_attempt_at IS NOT NULL`,
);

/** Defers an event that cannot be dispatched. It is retried until it can. */
async function recordFailure({ id, uuid, type, attempts }: OutboxEvent, err: unknown, transaction?: Transaction) {
  logger.error({ err, event: uuid, type, attempts }, 'event not dispatched; sweep will retry');
  const nextAttemptAt = addMilliseconds(now(), getBackoffMs(attempts, RETRY_BACKOFF));
  const lastError = (err instanceof Error ? err.message : String(err)).slice(0, 500);
  await runStatement(RECORD_FAILURE, { id, nextAttemptAt, lastError }, transaction);
}

/** Days for which dispatched events and their deliveries are kept. */
export const EVENT_RETENTION_DAYS = 30;

const PRUNE_EVENTS = prepared(
  'prune_events',
  `DELETE FROM outbox_events WHERE id IN (
     SELECT e.id FROM outbox_events e
      WHERE e.created_at <= :before AND e.next_attempt_at IS NULL
        AND NOT EXISTS (SELECT FROM webhook_deliveries d WHERE d.event_id = e.id AND d.status = 'pending')
      ORDER BY e.created_at LIMIT ${STATEMENT_BATCH_SIZE} FOR UPDATE SKIP LOCKED)
   RETURNING id`,
);

/** Deletes events after their retention, with their deliveries; not while a delivery is pending. */
export async function pruneEvents(): Promise<void> {
  await runInBatches(PRUNE_EVENTS, { before: addMilliseconds(now(), -EVENT_RETENTION_DAYS * DAY_MS) });
}
