import Stripe from 'stripe';
import type { Books } from './books.ts';

/** The events that the stand-in tells of: those that the service handles (decisions: Billing). */
export const HANDLED_EVENTS = [
  'checkout.session.completed',
  'checkout.session.async_payment_succeeded',
  'checkout.session.async_payment_failed',
  'invoice.paid',
  'invoice.payment_failed',
  'customer.subscription.created',
  'customer.subscription.updated',
  'customer.subscription.deleted',
  'payment_intent.succeeded',
  'payment_intent.payment_failed',
  'charge.refunded',
  'charge.dispute.created',
  'charge.dispute.closed',
] as const;

export type HandledEvent = (typeof HANDLED_EVENTS)[number];

export interface StandInEvent {
  id: string;
  type: HandledEvent;
  /** Of what it is about. */
  objectId: string;
  /** What is posted, to the letter. */
  body: string;
}

/** An event, with its object as it is now. */
export function eventOf(books: Books, type: HandledEvent, object: { id: string }): StandInEvent {
  const id = books.newId('evt');
  const event = {
    id,
    object: 'event',
    api_version: Stripe.API_VERSION,
    created: books.now(),
    data: { object },
    livemode: false,
    pending_webhooks: 1,
    request: { id: null, idempotency_key: null },
    type,
  };
  return { id, type, objectId: object.id, body: JSON.stringify(event, null, 2) };
}

const stripe = new Stripe('sk_test_standin');

/** What stands in the header `Stripe-Signature`. @param timestamp in seconds; now, if it is not given. */
export function signatureOf(payload: string, secret: string, timestamp?: number): Promise<string> {
  return stripe.webhooks.generateTestHeaderStringAsync({ payload, secret, timestamp });
}
