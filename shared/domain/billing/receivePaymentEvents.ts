import {
  type EventWithPayload,
  ProcessorError,
  type ProcessorEvent,
  processor,
} from '../../gateways/payments/index.ts';
import { isRecentSignature } from '../../gateways/payments/stripeWebhook.ts';
import { createBatcher } from '../../lib/batcher.ts';
import { now } from '../../lib/clock.ts';
import { isRejection } from '../../lib/database/errors.ts';
import { prepared, runStatement } from '../../lib/database/preparedStatements.ts';
import { DB_WAIT_TIMEOUT } from '../../lib/database/waitTimeout.ts';
import { logger } from '../../lib/logger.ts';
import { throttleLog } from '../../lib/logThrottle.ts';
import { enqueueTasks } from '../../queues/enqueue.ts';
import { ServiceError } from '../../spec/errors.ts';
import { MINUTE_MS } from '../../spec/durations.ts';
import { APPLY_EVENT_KIND } from './processorTasks.ts';

const STORE_EVENTS = prepared(
  'store_payment_events',
  `WITH received AS MATERIALIZED (
     SELECT * FROM json_to_recordset(:events) AS r (event_id text, type text, object_id text, payload text)
   ), stored AS (
     INSERT INTO payment_events (event_id, type, object_id, payload, received_at)
     SELECT event_id, type, object_id, payload, cast(:now AS timestamptz) FROM received
     ON CONFLICT (event_id) DO NOTHING
     RETURNING event_id
   ), repeated AS (
     UPDATE tasks SET run_at = :now, attempts = 0
      WHERE kind = '${APPLY_EVENT_KIND}' AND key = ANY (SELECT event_id FROM received) AND run_at IS NULL
   )
   INSERT INTO tasks (kind, key, run_at, created_at)
   SELECT '${APPLY_EVENT_KIND}', event_id, cast(:now AS timestamptz), cast(:now AS timestamptz) FROM stored`,
);

interface ReceivedEvent {
  event_id: string;
  type: string;
  object_id: string;
  payload: string;
}

const MAX_PENDING_WRITES = 64;

const storeEvent = createBatcher<ReceivedEvent, void>({
  maxItems: 64,
  maxInFlight: 2,
  waitTimeout: DB_WAIT_TIMEOUT,
  getKey: ({ event_id: id }) => id,
  isItemError: isRejection,
  run: async (events) => {
    await runStatement(STORE_EVENTS, { events: JSON.stringify(events), now: now() });
    return [];
  },
});

/** Stores listed events, which may have been received before. The sweep processes those that are new. */
export async function storePaymentEvents(events: AsyncIterable<EventWithPayload>): Promise<void> {
  const stored: Promise<void>[] = [];
  for await (const { id, type, objectId, payload } of events) {
    const storing = storeEvent({ event_id: id, type, object_id: objectId, payload });
    // Awaited below. Until then, while the next events are fetched, a rejection must not count as unhandled.
    storing.catch(() => {});
    stored.push(storing);
    if (stored.length >= MAX_PENDING_WRITES) await Promise.all(stored.splice(0));
  }
  await Promise.all(stored);
}

/**
 * Stores an event from a webhook and enqueues it. Once it is stored it will be processed, and may be acknowledged. One
 * of an unused type without an object to read needs nothing.
 * @throws ServiceError validation_error if the signature is not the processor's, or is too old.
 */
export async function receivePaymentEvent(body: Buffer, signature: string): Promise<void> {
  const event = verifyWebhookEvent(body, signature);
  if (event === null) return;
  await storeEvent({ event_id: event.id, type: event.type, object_id: event.objectId, payload: body.toString() });
  void enqueueTasks(APPLY_EVENT_KIND);
}

/**
 * Rejects a request by its signature header alone, before its body is read.
 * @throws ServiceError validation_error
 */
export function assertRecentSignature(signature: string): void {
  if (!isRecentSignature(signature)) throw createWebhookRejection('Stripe-Signature is missing, malformed or too old.');
}

function verifyWebhookEvent(body: Buffer, signature: string): ProcessorEvent | null {
  try {
    return processor.verifyEvent(body, signature);
  } catch (error) {
    if (!(error instanceof ProcessorError)) throw error;
    throw createWebhookRejection(error.message);
  }
}

const WARN_EVERY_MS = MINUTE_MS;

/** Either the request is not Stripe's, or STRIPE_WEBHOOK_SECRET is wrong, and then no event ever arrives. */
const warnRejectedWebhook = throttleLog(WARN_EVERY_MS, (suppressed, problem: string) =>
  logger.warn({ problem, suppressed }, 'webhook rejected; check STRIPE_WEBHOOK_SECRET if this repeats'),
);

function createWebhookRejection(problem: string): ServiceError {
  warnRejectedWebhook(problem);
  return new ServiceError('validation_error', problem);
}
