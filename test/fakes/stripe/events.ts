import Stripe from 'stripe';
import type { StripeStore } from './store.ts';

export interface FakeStripeEvent {
  id: string;
  type: string;
  /** The id of its object. */
  objectId: string;
  /** Time on the fake's clock, in seconds. */
  created: number;
  /** The exact request body. */
  body: string;
}

/** Creates an event with the current state of its object. */
export function createStripeEvent(
  store: StripeStore,
  type: string,
  object: { id: string },
  { previous, apiVersion = Stripe.API_VERSION }: { previous?: object; apiVersion?: string } = {},
): FakeStripeEvent {
  const id = store.newId('evt');
  const event = store.add<'event'>({
    id,
    object: 'event',
    api_version: apiVersion,
    created: store.now(),
    // A copy: the stored object changes later.
    data: { object: structuredClone(object), ...(previous && { previous_attributes: previous }) },
    livemode: false,
    pending_webhooks: 1,
    request: { id: null, idempotency_key: null },
    type,
  } as unknown as Stripe.Event);
  return { id, type, objectId: object.id, created: event.created, body: JSON.stringify(event, null, 2) };
}

const stripe = new Stripe('sk_test_standin');

/** Returns the value of `Stripe-Signature`. @param timestamp in seconds. Default: now. */
export function signPayload(payload: string, secret: string, timestamp?: number): Promise<string> {
  return stripe.webhooks.generateTestHeaderStringAsync({ payload, secret, timestamp });
}
