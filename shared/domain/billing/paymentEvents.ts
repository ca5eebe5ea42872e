import type { Transaction } from 'objection';
import pLimit from 'p-limit';
import { processor, ProcessorError, type ProcessorEvent, type ToldEvent } from '../../gateways/payments/index.ts';
import { isRecentSignature } from '../../gateways/payments/signature.ts';
import { createBatcher } from '../../lib/batcher.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { DATABASE_PATIENCE, isRefusal, prepared, run } from '../../lib/db.ts';
import { logger } from '../../lib/logger.ts';
import { paymentEventLag, paymentEventsAbandoned } from '../../lib/meters.ts';
import { atMostEvery } from '../../lib/throttle.ts';
import { ringForEvents } from '../../queues/enqueue.ts';
import { ServiceError } from '../../spec/errors.ts';
import { Account } from '../../tables/Account.ts';
import { PaymentEvent } from '../../tables/PaymentEvent.ts';
import { commissionEffect } from '../affiliates/commissions.ts';
import { connectEffect } from '../affiliates/connect.ts';
import { both, carryOut, type Effect, takeTicket } from './effects.ts';
import { noteFailedRefund } from './owedRefunds.ts';
import { subscriptionEffect } from './syncSubscription.ts';
import { paymentEffect } from './topups.ts';

/** What was rung for is left to that ring for a moment before the sweep finds it. */
const GRACE_MS = 5_000;

const STORE = prepared(
  'store_events',
  `INSERT INTO payment_events (event_id, type, object_id, payload, received_at, due_at)
   SELECT event_id, type, object_id, payload, cast(:now AS timestamptz), cast(:due AS timestamptz)
     FROM json_to_recordset(:events) AS r (event_id text, type text, object_id text, payload text)
   ON CONFLICT (event_id) DO UPDATE SET abandoned_at = NULL, attempts = 0, due_at = excluded.due_at
     WHERE payment_events.abandoned_at IS NOT NULL`,
);

interface Received {
  event_id: string;
  type: string;
  object_id: string;
  payload: string;
}

const STORED_AT_ONCE = 64;

const store = createBatcher<Received, void>({
  maxItems: 64,
  maxInFlight: 2,
  patience: DATABASE_PATIENCE,
  keyOf: ({ event_id: id }) => id,
  isOneItemsFault: isRefusal,
  run: async (events) => {
    const at = now();
    await run(STORE, { events: JSON.stringify(events), now: at, due: addMilliseconds(at, GRACE_MS) });
    return [];
  },
});

/** Stores events that may have come before; those that did not are found by the sweep. */
export async function storeEvents(events: AsyncIterable<ToldEvent>): Promise<void> {
  const stored: Promise<void>[] = [];
  for await (const { id, type, objectId, payload } of events) {
    const storing = store({ event_id: id, type, object_id: objectId, payload });
    // Told of below; until then, while the next ones are fetched, nobody else listens to it.
    storing.catch(() => {});
    stored.push(storing);
    if (stored.length >= STORED_AT_ONCE) await Promise.all(stored.splice(0));
  }
  await Promise.all(stored);
}

/**
 * Takes an event of the processor's in: once it is stored it will be acted upon, and may be acknowledged.
 * @throws ServiceError validation_error where it is not the processor's, or too old.
 */
export async function receiveEvent(body: Buffer, signature: string): Promise<void> {
  const event = verify(body, signature);
  await store({ event_id: event.id, type: event.type, object_id: event.objectId, payload: body.toString() });
  void ringForEvents(event.id);
}

/**
 * Rejects a request by its signature header alone, before its body is read.
 * @throws ServiceError validation_error
 */
export function requireRecentSignature(signature: string): void {
  if (!isRecentSignature(signature)) throw rejected('Stripe-Signature is missing, malformed or too old.');
}

function verify(body: Buffer, signature: string): ProcessorEvent {
  try {
    return processor.verifyEvent(body, signature);
  } catch (error) {
    if (!(error instanceof ProcessorError)) throw error;
    throw rejected(error.message);
  }
}

const WARN_EVERY_MS = 60_000;

/** Either a stranger's request, or the wrong STRIPE_WEBHOOK_SECRET: then no event ever arrives. */
const warnOfRejection = atMostEvery(WARN_EVERY_MS, (suppressed, problem: string) =>
  logger.warn({ problem, suppressed }, 'webhook rejected; check STRIPE_WEBHOOK_SECRET if this repeats'),
);

function rejected(problem: string): ServiceError {
  warnOfRejection(problem);
  return new ServiceError('validation_error', problem);
}

/** How long an event that cannot be applied is retried, and how often at least: a worker may have been away for days. */
const GIVE_UP_MS = 3 * 86_400_000;
const ATTEMPTS_LEAST = 10;

const SIDE_BY_SIDE = 4;

/** Acts upon events, some side by side: each asks the processor for something. */
export async function applyEvents(eventIds: string[]): Promise<void> {
  const slots = pLimit(SIDE_BY_SIDE);
  await Promise.all(eventIds.map((id) => slots(() => applyEvent(id))));
}

/** Acts upon an event, once; what cannot be done now is tried again later and later. */
async function applyEvent(eventId: string): Promise<void> {
  const event = await PaymentEvent.query().findById(eventId);
  if (event === undefined || event.applied_at !== null || event.abandoned_at !== null) return;
  try {
    const effect = await effectOf(event);
    if (effect === null) await markApplied(eventId);
    else if (effect.problem === undefined) await carryOut(effect, (transaction) => markApplied(eventId, transaction));
    else {
      await carryOut(effect);
      throw new Error(effect.problem);
    }
    paymentEventLag.observe(Math.max(0, (now().getTime() - event.received_at.getTime()) / 1_000));
    logger.info({ event: eventId, type: event.type, accountId: effect?.accountId }, 'payment event applied');
  } catch (error) {
    await retryLater(event, error);
  }
}

async function retryLater(
  { event_id: event, type, attempts: before, received_at: receivedAt }: PaymentEvent,
  err: unknown,
) {
  const attempts = before + 1;
  const problem = (err as Error).message.slice(0, 500);
  const due_at = addMilliseconds(now(), Math.min(3_600_000, 2_000 * 2 ** Math.min(attempts, 11)));
  const isOver = attempts >= ATTEMPTS_LEAST && receivedAt <= addMilliseconds(now(), -GIVE_UP_MS);
  const abandoned_at = isOver ? now() : null;
  const unapplied = PaymentEvent.query().findById(event).whereNull('applied_at');
  if ((await unapplied.patch({ attempts, problem, due_at, abandoned_at })) === 0) {
    logger.warn({ err, event, type }, 'payment event failed after it was applied; not retried');
  } else if (isOver) {
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
export async function abandonedEvents(limit: number): Promise<{ count: number; latest: AbandonedEvent[] }> {
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
async function markApplied(eventId: string, transaction?: Transaction): Promise<boolean> {
  const marked = await PaymentEvent.query(transaction)
    .patch({ applied_at: now(), problem: null, abandoned_at: null })
    .where({ event_id: eventId })
    .whereNull('applied_at');
  return marked === 1;
}

/** What an event makes us look at. Only its object's id is taken from it: its contents may be out of date. */
async function effectOf({ type, object_id: id }: PaymentEvent): Promise<Effect | null> {
  if (type.startsWith('customer.subscription.')) return subscriptionEffect(id);
  if (type === 'customer.updated' || type.startsWith('payment_method.')) return paymentMethodEffect(id);
  if (type.startsWith('invoice.')) {
    const ofSubscription = await subscriptionEffectOrNull(await processor.subscriptionOfInvoice(id));
    return both(ofSubscription, await commissionEffect(id));
  }
  if (type.startsWith('payment_intent.')) return intentEffect(id);
  if (type.startsWith('checkout.session.')) return sessionEffect(id);
  if (type === 'charge.refunded') return chargeEffect(id);
  if (type.startsWith('refund.')) return refundEffect(id);
  if (type.startsWith('charge.dispute.')) return chargeEffect(await processor.chargeOfDispute(id));
  if (type.startsWith('credit_note.')) return creditNoteEffect(id);
  if (type === 'account.updated') return connectEffect(id);
  return null;
}

async function subscriptionEffectOrNull(subscriptionId: string | null): Promise<Effect | null> {
  return subscriptionId === null ? null : subscriptionEffect(subscriptionId);
}

/** A card was added, removed or made the default one. */
async function paymentMethodEffect(customerId: string): Promise<Effect | null> {
  const account = await Account.query().findOne({ stripe_customer_id: customerId });
  if (account === undefined) return null;
  const hasMethod = (await processor.paymentMethodOf(customerId)) !== null;
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
async function creditNoteEffect(creditNoteId: string): Promise<Effect | null> {
  const invoiceId = await processor.invoiceOfCreditNote(creditNoteId);
  if (invoiceId === null) return null;
  const ofSubscription = await subscriptionEffectOrNull(await processor.subscriptionOfInvoice(invoiceId));
  return both(ofSubscription, await commissionEffect(invoiceId));
}

export async function intentEffect(intentId: string): Promise<Effect | null> {
  const ticket = await takeTicket();
  return paymentEffect(await processor.readPayment(intentId), ticket);
}

async function sessionEffect(sessionId: string): Promise<Effect | null> {
  const session = await processor.readSession(sessionId);
  if (session?.intentId != null) return intentEffect(session.intentId);
  return subscriptionEffectOrNull(session?.subscriptionId ?? null);
}

/**
 * Money that went back, or is wanted back: credits of a top-up go with it; a subscription ends or is suspended, and its
 * commission goes.
 */
async function chargeEffect(chargeId: string | null): Promise<Effect | null> {
  const ticket = await takeTicket();
  if (chargeId === null) return null;
  const charge = await processor.readCharge(chargeId);
  if (charge === null) return null;
  if (!('subscriptionId' in charge)) return paymentEffect(charge, ticket);
  const { invoiceId, subscriptionId } = charge;
  return both(await subscriptionEffect(subscriptionId), await commissionEffect(invoiceId));
}

/** A refund that fails gives the money back to us: credits and commissions return, and staff pay it back another way. */
async function refundEffect(refundId: string): Promise<Effect | null> {
  const refund = await processor.readRefund(refundId);
  if (refund === null) return null;
  const { chargeId, isFailed } = refund;
  if (isFailed) {
    logger.error({ refundId, chargeId }, 'a refund failed: pay the customer back in another way');
    const charge = chargeId === null ? null : await processor.readCharge(chargeId);
    if (charge !== null && 'invoiceId' in charge) await noteFailedRefund(charge.invoiceId);
  }
  return chargeEffect(chargeId);
}

/** The processor repeats itself for three days; this is for whoever wants to look something up. */
const KEPT_MS = 60 * 86_400_000;
const PRUNE_BATCH = 1_000;

const PRUNE = prepared(
  'prune_payment_events',
  `DELETE FROM payment_events
    WHERE event_id IN (SELECT event_id FROM payment_events
                        WHERE (applied_at IS NOT NULL OR abandoned_at IS NOT NULL) AND received_at <= :before
                        ORDER BY received_at LIMIT ${PRUNE_BATCH})
   RETURNING event_id`,
);

/** Deletes events that were applied or abandoned, and received long ago. */
export async function prunePaymentEvents(): Promise<void> {
  const before = addMilliseconds(now(), -KEPT_MS);
  while ((await run(PRUNE, { before })).length === PRUNE_BATCH);
}

const WAITING_AT_ONCE = 200;

/** Acts upon the events whose ring was lost, and again upon those that could not be acted upon. */
export async function applyWaitingEvents(): Promise<void> {
  const waiting = await PaymentEvent.query()
    .select('event_id')
    .whereNull('applied_at')
    .whereNull('abandoned_at')
    .where('due_at', '<=', now())
    .orderBy('due_at')
    .limit(WAITING_AT_ONCE);
  await applyEvents(waiting.map(({ event_id: id }) => id));
}
