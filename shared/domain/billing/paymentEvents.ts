import type { Transaction } from 'objection';
import pLimit from 'p-limit';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { STATEMENT_BATCH_SIZE } from '../../lib/database/runInBatches.ts';
import { logger } from '../../lib/logger.ts';
import { paymentEventLag, paymentEventsAbandoned } from '../../lib/metrics.ts';
import { PaymentEvent } from '../../tables/PaymentEvent.ts';
import { withAccountLock } from '../payments/accountSnapshot.ts';
import { applyEventSnapshots, type EventSnapshot, fetchEventSnapshots } from './eventSnapshots.ts';
import type { FollowUp } from './followUps.ts';
import { runFollowUps } from './syncSubscription.ts';
import { DAY_MS, HOUR_MS } from '../../spec/durations.ts';

const CONCURRENCY = 4;

/** Processes events, a few at a time, as each makes requests to the processor. */
export async function processPaymentEvents(eventIds: string[]): Promise<void> {
  const slots = pLimit(CONCURRENCY);
  await Promise.all(eventIds.map((id) => slots(() => processPaymentEvent(id))));
}

/** Applies an event once. An event that cannot be applied now is retried with back-off. */
async function processPaymentEvent(eventId: string): Promise<void> {
  const event = await PaymentEvent.query().findById(eventId);
  if (event === undefined || event.processed_at !== null || event.abandoned_at !== null) return;
  try {
    const snapshots = await fetchEventSnapshots(event);
    const followUps = await applyEvent(eventId, snapshots);
    await runFollowUps(followUps);
    const problem = findProblem(snapshots);
    if (problem !== null) throw new Error(problem);
    paymentEventLag.observe(Math.max(0, (now().getTime() - event.received_at.getTime()) / 1_000));
    logger.info({ event: eventId, type: event.type, accountId: snapshots[0]?.accountId }, 'payment event applied');
  } catch (err) {
    await scheduleEventRetry(event, err);
  }
}

/** Applies the snapshots of an event and marks it as applied, in one transaction under the account's lock. */
async function applyEvent(eventId: string, snapshots: EventSnapshot[]): Promise<FollowUp[]> {
  const accountId = snapshots[0]?.accountId;
  if (accountId === undefined) {
    await markEventApplied(eventId);
    return [];
  }
  return withAccountLock(accountId, async (transaction, account) => {
    // An event with a problem stays unapplied, so that it is retried; its other parts are applied now.
    // The copy of the event contains the e-mail address, which was erased.
    if (account.erased_at !== null) await PaymentEvent.query(transaction).findById(eventId).patch({ payload: '' });
    const isApplicable = findProblem(snapshots) !== null || (await markEventApplied(eventId, transaction));
    return isApplicable ? applyEventSnapshots(transaction, account, snapshots) : [];
  });
}

function findProblem(snapshots: EventSnapshot[]): string | null {
  return snapshots.find(({ problem }) => problem !== null)?.problem ?? null;
}

/** @returns false if the event was applied before. */
async function markEventApplied(eventId: string, transaction?: Transaction): Promise<boolean> {
  const marked = await PaymentEvent.query(transaction)
    .patch({ processed_at: now(), last_error: null, abandoned_at: null })
    .where({ event_id: eventId })
    .whereNull('processed_at');
  return marked === 1;
}

/** A failing event is retried for this long, and at least this often: the worker may have been down for days. */
const ABANDON_AFTER_MS = 3 * DAY_MS;
const MIN_ATTEMPTS = 10;

async function scheduleEventRetry(
  { event_id: event, type, attempts: previousAttempts, received_at: receivedAt }: PaymentEvent,
  err: unknown,
) {
  const attempts = previousAttempts + 1;
  const last_error = (err as Error).message.slice(0, 500);
  const next_attempt_at = addMilliseconds(now(), Math.min(HOUR_MS, 2_000 * 2 ** Math.min(attempts, 11)));
  const isAbandoned = attempts >= MIN_ATTEMPTS && receivedAt <= addMilliseconds(now(), -ABANDON_AFTER_MS);
  const abandoned_at = isAbandoned ? now() : null;
  const unapplied = PaymentEvent.query().findById(event).whereNull('processed_at');
  if ((await unapplied.patch({ attempts, last_error, next_attempt_at, abandoned_at })) === 0) {
    logger.warn({ err, event, type }, 'payment event failed after it was applied; not retried');
  } else if (isAbandoned) {
    paymentEventsAbandoned.inc();
    logger.error({ err, event, type, attempts }, 'payment event abandoned; resend it from Stripe to retry');
  } else logger.warn({ err, event, type, attempts }, 'payment event not applied; sweep will retry');
}

const BATCH_SIZE = 200;

/** Processes events whose job was lost, and retries those that failed. */
export async function retryPaymentEvents(): Promise<void> {
  const waiting = await PaymentEvent.query()
    .select('event_id')
    .whereNull('processed_at')
    .whereNull('abandoned_at')
    .where('next_attempt_at', '<=', now())
    .orderBy('next_attempt_at')
    .limit(BATCH_SIZE);
  await processPaymentEvents(waiting.map(({ event_id: id }) => id));
}

const CLEAR_PAYLOADS = prepared(
  'clear_payment_event_payloads',
  `WITH page AS MATERIALIZED (
     SELECT event_id, payload FROM payment_events WHERE event_id > :after ORDER BY event_id LIMIT ${STATEMENT_BATCH_SIZE}
   ), cleared AS (
     UPDATE payment_events e SET payload = '' FROM page
      WHERE e.event_id = page.event_id
        AND EXISTS (SELECT FROM unnest(cast(:names AS text[])) AS name WHERE strpos(page.payload, name) > 0)
   )
   SELECT event_id FROM page ORDER BY event_id`,
);

/**
 * Empties the stored copies of all events that contain one of these names, such as a customer id. Events are applied
 * without their copies. Reads every event of the retention, some at a time.
 */
export async function clearEventPayloads(names: string[]): Promise<void> {
  for (let after = ''; ; ) {
    const page = await runStatement<Pick<PaymentEvent, 'event_id'>>(CLEAR_PAYLOADS, { after, names });
    if (page.length < STATEMENT_BATCH_SIZE) return;
    after = page.at(-1)?.event_id as string;
  }
}

export interface AbandonedEvent {
  eventId: string;
  type: string;
  lastError: string;
  receivedAt: Date;
}

/** Returns the latest abandoned events, and how many there are. */
export async function listAbandonedEvents(limit: number): Promise<{ count: number; latest: AbandonedEvent[] }> {
  const { results, total } = await PaymentEvent.query()
    .select('event_id', 'type', 'last_error', 'received_at')
    .whereNotNull('abandoned_at')
    .orderBy('abandoned_at', 'desc')
    .page(0, limit);
  const latest = results.map(({ event_id: eventId, type, last_error: lastError, received_at: receivedAt }) => ({
    eventId,
    type,
    lastError: lastError ?? '',
    receivedAt,
  }));
  return { count: total, latest };
}
