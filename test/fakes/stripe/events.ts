import Stripe from 'stripe';
import type { EVENT_TYPES } from '../../../shared/gateways/payments/eventTypes.ts';
import type { StripeStore } from './store.ts';

export type HandledEvent = (typeof EVENT_TYPES)[number];

export interface FakeStripeEvent {
  id: string;
  type: HandledEvent;
  /** Of what it is about. */
  objectId: string;
  /** By the stand-in's clock, in seconds. */
  created: number;
  /** What is posted, to the letter. */
  body: string;
}

/** An event, with its object as it is now. */
export function createStripeEvent(
  store: StripeStore,
  type: HandledEvent,
  object: { id: string },
  previous?: object,
): FakeStripeEvent {
  const id = store.newId('evt');
  const event = store.add<'event'>({
    id,
    object: 'event',
    api_version: Stripe.API_VERSION,
    created: store.now(),
    // As it was then: books go on.
    data: { object: structuredClone(object), ...(previous && { previous_attributes: previous }) },
    livemode: false,
    pending_webhooks: 1,
    request: { id: null, idempotency_key: null },
    type,
  } as unknown as Stripe.Event);
  return { id, type, objectId: object.id, created: event.created, body: JSON.stringify(event, null, 2) };
}

const stripe = new Stripe('sk_test_standin');

/** What stands in the header `Stripe-Signature`. @param timestamp in seconds; now, if it is not given. */
export function signPayload(payload: string, secret: string, timestamp?: number): Promise<string> {
  return stripe.webhooks.generateTestHeaderStringAsync({ payload, secret, timestamp });
}
