import type { Transaction } from 'objection';
import pLimit from 'p-limit';
import {
  processor,
  ProcessorError,
  type ProcessorEvent,
  type EventWithPayload,
} from '../../gateways/payments/index.ts';
import { isRecentSignature } from '../../gateways/payments/webhookSignature.ts';
import { createBatcher } from '../../lib/batcher.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { DB_WAIT_TIMEOUT, isRejection, prepared, runStatement } from '../../lib/db.ts';
import { logger } from '../../lib/logger.ts';
import { paymentEventLag, paymentEventsAbandoned } from '../../lib/metrics.ts';
import { throttleLog } from '../../lib/logThrottle.ts';
import { enqueuePaymentEvent } from '../../queues/enqueue.ts';
import { ServiceError } from '../../spec/errors.ts';
import { Account } from '../../tables/Account.ts';
import { PaymentEvent } from '../../tables/PaymentEvent.ts';
import { fetchCommissionChange } from '../affiliates/commissions.ts';
import { fetchPayoutAccountChange } from '../affiliates/payoutAccounts.ts';
import { combineChanges, applyChange, type AccountChange, nextSyncVersion } from './accountChanges.ts';
import { markRefundFailed } from './refunds.ts';
import { fetchSubscriptionChange } from './syncSubscription.ts';
import { buildPaymentChange } from './topups.ts';

/** What was rung for is left to that ring for a moment before the sweep finds it. */
const SWEEP_GRACE_MS = 5_000;

const STORE_EVENTS = prepared(
  'store_payment_events',
  `INSERT INTO payment_events (event_id, type, object_id, payload, received_at, next_attempt_at)
   SELECT event_id, type, object_id, payload, cast(:now AS timestamptz), cast(:due AS timestamptz)
     FROM json_to_recordset(:events) AS r (event_id text, type text, object_id text, payload text)
   ON CONFLICT (event_id) DO UPDATE SET abandoned_at = NULL, attempts = 0, next_attempt_at = excluded.next_attempt_at
     WHERE payment_events.abandoned_at IS NOT NULL`,
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
    const at = now();
    await runStatement(STORE_EVENTS, {
      events: JSON.stringify(events),
      now: at,
      due: addMilliseconds(at, SWEEP_GRACE_MS),
    });
    return [];
  },
});

/** Stores events that may have come before; those that did not are found by the sweep. */
export async function storeEvents(events: AsyncIterable<EventWithPayload>): Promise<void> {
  const stored: Promise<void>[] = [];
  for await (const { id, type, objectId, payload } of events) {
    const storing = storeEvent({ event_id: id, type, object_id: objectId, payload });
    // Told of below; until then, while the next ones are fetched, nobody else listens to it.
    storing.catch(() => {});
    stored.push(storing);
    if (stored.length >= MAX_PENDING_WRITES) await Promise.all(stored.splice(0));
  }
  await Promise.all(stored);
}

/**
 * Takes an event of the processor's in: once it is stored it will be acted upon, and may be acknowledged.
 * @throws ServiceError validation_error where it is not the processor's, or too old.
 */
export async function receivePaymentEvent(body: Buffer, signature: string): Promise<void> {
  const event = verifyWebhookEvent(body, signature);
  await storeEvent({ event_id: event.id, type: event.type, object_id: event.objectId, payload: body.toString() });
  void enqueuePaymentEvent(event.id);
}

/**
 * Rejects a request by its signature header alone, before its body is read.
 * @throws ServiceError validation_error
 */
export function assertRecentSignature(signature: string): void {
  if (!isRecentSignature(signature)) throw createWebhookRejection('Stripe-Signature is missing, malformed or too old.');
}

function verifyWebhookEvent(body: Buffer, signature: string): ProcessorEvent {
  try {
    return processor.verifyEvent(body, signature);
  } catch (error) {
    if (!(error instanceof ProcessorError)) throw error;
    throw createWebhookRejection(error.message);
  }
}

const WARN_EVERY_MS = 60_000;

/** Either a stranger's request, or the wrong STRIPE_WEBHOOK_SECRET: then no event ever arrives. */
const warnRejectedWebhook = throttleLog(WARN_EVERY_MS, (suppressed, problem: string) =>
  logger.warn({ problem, suppressed }, 'webhook rejected; check STRIPE_WEBHOOK_SECRET if this repeats'),
);

function createWebhookRejection(problem: string): ServiceError {
  warnRejectedWebhook(problem);
  return new ServiceError('validation_error', problem);
}

/** How long an event that cannot be applied is retried, and how often at least: a worker may have been away for days. */
const ABANDON_AFTER_MS = 3 * 86_400_000;
const MIN_ATTEMPTS = 10;

const CONCURRENCY = 4;

/** Acts upon events, some side by side: each asks the processor for something. */
export async function processPaymentEvents(eventIds: string[]): Promise<void> {
  const slots = pLimit(CONCURRENCY);
  await Promise.all(eventIds.map((id) => slots(() => processPaymentEvent(id))));
}

/** Acts upon an event, once; what cannot be done now is tried again later and later. */
async function processPaymentEvent(eventId: string): Promise<void> {
  const event = await PaymentEvent.query().findById(eventId);
  if (event === undefined || event.processed_at !== null || event.abandoned_at !== null) return;
  try {
    const change = await fetchEventChange(event);
    if (change === null) await markEventApplied(eventId);
    else if (change.problem === undefined)
      await applyChange(change, (transaction) => markEventApplied(eventId, transaction));
    else {
      await applyChange(change);
      throw new Error(change.problem);
    }
    paymentEventLag.observe(Math.max(0, (now().getTime() - event.received_at.getTime()) / 1_000));
    logger.info({ event: eventId, type: event.type, accountId: change?.accountId }, 'payment event applied');
  } catch (error) {
    await scheduleEventRetry(event, error);
  }
}

async function scheduleEventRetry(
  { event_id: event, type, attempts: previousAttempts, received_at: receivedAt }: PaymentEvent,
  err: unknown,
) {
  const attempts = previousAttempts + 1;
  const problem = (err as Error).message.slice(0, 500);
  const next_attempt_at = addMilliseconds(now(), Math.min(3_600_000, 2_000 * 2 ** Math.min(attempts, 11)));
  const isAbandoned = attempts >= MIN_ATTEMPTS && receivedAt <= addMilliseconds(now(), -ABANDON_AFTER_MS);
  const abandoned_at = isAbandoned ? now() : null;
  const unapplied = PaymentEvent.query().findById(event).whereNull('processed_at');
  if ((await unapplied.patch({ attempts, problem, next_attempt_at, abandoned_at })) === 0) {
    logger.warn({ err, event, type }, 'payment event failed after it was applied; not retried');
  } else if (isAbandoned) {
    paymentEventsAbandoned.inc();
    logger.error({ err, event, type, attempts }, 'payment event abandoned; resend it from Stripe to retry');
  } else logger.warn({ event, type, attempts, problem }, 'payment event not applied; will be retried');
}

export interface AbandonedEvent {
  eventId: string;
  type: string;
  problem: string;
  receivedAt: Date;
}

/** The latest events that were given up, and how many there are. */
export async function listAbandonedEvents(limit: number): Promise<{ count: number; latest: AbandonedEvent[] }> {
  const { results, total } = await PaymentEvent.query()
    .select('event_id', 'type', 'problem', 'received_at')
    .whereNotNull('abandoned_at')
    .orderBy('abandoned_at', 'desc')
    .page(0, limit);
  const latest = results.map(({ event_id: eventId, type, problem, received_at: receivedAt }) => ({
    eventId,
    type,
    problem: problem ?? '',
    receivedAt,
  }));
  return { count: total, latest };
}

/** @returns whether it had not been. */
async function markEventApplied(eventId: string, transaction?: Transaction): Promise<boolean> {
  const marked = await PaymentEvent.query(transaction)
    .patch({ processed_at: now(), problem: null, abandoned_at: null })
    .where({ event_id: eventId })
    .whereNull('processed_at');
  return marked === 1;
}

/** What an event makes us look at. Only its object's id is taken from it: its contents may be out of date. */
async function fetchEventChange({ type, object_id: id }: PaymentEvent): Promise<AccountChange | null> {
  if (type.startsWith('customer.subscription.')) return fetchSubscriptionChange(id);
  if (type === 'customer.updated' || type.startsWith('payment_method.')) return fetchPaymentMethodChange(id);
  if (type.startsWith('invoice.')) {
    const subscriptionChange = await fetchSubscriptionChangeOrNull(await processor.findInvoiceSubscription(id));
    return combineChanges(subscriptionChange, await fetchCommissionChange(id));
  }
  if (type.startsWith('payment_intent.')) return fetchPaymentIntentChange(id);
  if (type.startsWith('checkout.session.')) return fetchCheckoutSessionChange(id);
  if (type === 'charge.refunded') return fetchChargeReversalChange(id);
  if (type.startsWith('refund.')) return fetchRefundChange(id);
  if (type.startsWith('charge.dispute.')) return fetchChargeReversalChange(await processor.findDisputedCharge(id));
  if (type.startsWith('credit_note.')) return fetchCreditNoteChange(id);
  if (type === 'account.updated') return fetchPayoutAccountChange(id);
  return null;
}

async function fetchSubscriptionChangeOrNull(subscriptionId: string | null): Promise<AccountChange | null> {
  return subscriptionId === null ? null : fetchSubscriptionChange(subscriptionId);
}

/** A card was added, removed or made the default one. */
async function fetchPaymentMethodChange(customerId: string): Promise<AccountChange | null> {
  const account = await Account.query().findOne({ stripe_customer_id: customerId });
  if (account === undefined) return null;
  const hasMethod = (await processor.findPaymentMethod(customerId)) !== null;
  return {
    accountId: account.id,
    apply: async (transaction, locked) => {
      // Not where the customer was replaced in the meantime.
      if (locked.stripe_customer_id !== customerId) return undefined;
      await locked.$query(transaction).patch({ has_payment_method: hasMethod });
      return undefined;
    },
  };
}

/** Money may have gone back outside of the processor: a commission goes with it, and a year that is paid back ends. */
async function fetchCreditNoteChange(creditNoteId: string): Promise<AccountChange | null> {
  const invoiceId = await processor.findCreditedInvoice(creditNoteId);
  if (invoiceId === null) return null;
  const subscriptionChange = await fetchSubscriptionChangeOrNull(await processor.findInvoiceSubscription(invoiceId));
  return combineChanges(subscriptionChange, await fetchCommissionChange(invoiceId));
}

export async function fetchPaymentIntentChange(intentId: string): Promise<AccountChange | null> {
  const syncVersion = await nextSyncVersion();
  return buildPaymentChange(await processor.readPayment(intentId), syncVersion);
}

async function fetchCheckoutSessionChange(sessionId: string): Promise<AccountChange | null> {
  const session = await processor.readCheckoutSession(sessionId);
  if (session?.intentId != null) return fetchPaymentIntentChange(session.intentId);
  return fetchSubscriptionChangeOrNull(session?.subscriptionId ?? null);
}

/**
 * Money that went back, or is wanted back: credits of a top-up go with it; a subscription ends or is suspended, and its
 * commission goes.
 */
async function fetchChargeReversalChange(chargeId: string | null): Promise<AccountChange | null> {
  const syncVersion = await nextSyncVersion();
  if (chargeId === null) return null;
  const charge = await processor.readCharge(chargeId);
  if (charge === null) return null;
  if (!('subscriptionId' in charge)) return buildPaymentChange(charge, syncVersion);
  const { invoiceId, subscriptionId } = charge;
  return combineChanges(await fetchSubscriptionChange(subscriptionId), await fetchCommissionChange(invoiceId));
}

/** A refund that fails gives the money back to us: credits and commissions return, and staff pay it back another way. */
async function fetchRefundChange(refundId: string): Promise<AccountChange | null> {
  const refund = await processor.readRefund(refundId);
  if (refund === null) return null;
  const { chargeId, isFailed, isChargeRefunded } = refund;
  if (isFailed) {
    logger.error({ refundId, chargeId }, 'a refund failed: pay the customer back in another way');
    const charge = chargeId === null ? null : await processor.readCharge(chargeId);
    // A refund that was made in its place may have been told of before.
    if (charge !== null && 'invoiceId' in charge && !isChargeRefunded) await markRefundFailed(charge.invoiceId);
  }
  return fetchChargeReversalChange(chargeId);
}

/** The processor repeats itself for three days; this is for whoever wants to look something up. */
const RETENTION_MS = 60 * 86_400_000;
const PRUNE_BATCH = 1_000;

const PRUNE_EVENTS = prepared(
  'prune_payment_events',
  `DELETE FROM payment_events
    WHERE event_id IN (SELECT event_id FROM payment_events
                        WHERE (processed_at IS NOT NULL OR abandoned_at IS NOT NULL) AND received_at <= :before
                        ORDER BY received_at LIMIT ${PRUNE_BATCH})
   RETURNING event_id`,
);

/** Deletes events that were applied or abandoned, and received long ago. */
export async function prunePaymentEvents(): Promise<void> {
  const before = addMilliseconds(now(), -RETENTION_MS);
  while ((await runStatement(PRUNE_EVENTS, { before })).length === PRUNE_BATCH);
}

const BATCH_SIZE = 200;

/** Acts upon the events whose ring was lost, and again upon those that could not be acted upon. */
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
