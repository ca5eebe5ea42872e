import Stripe from 'stripe';
import {
  type EventWithPayload,
  type PaymentProcessor,
  ProcessorError,
  type ProcessorEvent,
} from './paymentProcessor.ts';
import { listIds, type StripeOptions, toProcessorError, unwrap } from './stripeClient.ts';
import { fromUnixSeconds, toSearchStart, toUnixSeconds } from './stripeMappers.ts';
import { EVENT_TYPES, SIGNATURE_TOLERANCE_SECONDS } from './stripeWebhook.ts';

/** The maximum number of types that one list of events may name. */
const EVENT_TYPES_MAX = 20;

/** Builds the methods that verify webhooks, and that list objects and events for reconciliation. */
export function buildEventMethods(
  stripe: Stripe,
  { webhookSecret, connectWebhookSecret = webhookSecret }: StripeOptions,
) {
  return {
    listOpenSubscriptions: async (customerId) => {
      const { data } = await unwrap(stripe.subscriptions.list({ customer: customerId, limit: 20 }));
      return data.map(({ id }) => id);
    },
    listSubscriptionsSince: (since) =>
      listIds(stripe.subscriptions.list({ status: 'all', created: { gte: toUnixSeconds(since) } })),
    listPaymentsSince: (since: Date, customerId?: string) =>
      listIds(
        stripe.paymentIntents.list({
          created: { gte: toSearchStart(since) },
          ...(customerId === undefined ? {} : { customer: customerId }),
        }),
      ),

    listEventsSince: async function* (since) {
      for (let from = 0; from < EVENT_TYPES.length; from += EVENT_TYPES_MAX) {
        const types = EVENT_TYPES.slice(from, from + EVENT_TYPES_MAX);
        yield* listEvents(stripe.events.list({ types, created: { gte: toUnixSeconds(since) }, limit: 100 }));
      }
    },

    // The charge and its balance transaction are created when a bank debit is submitted. Only the event has the time at
    // which it succeeded. Events are listed newest first, so that a payment of just now is on the first page.
    findCollectionTime: async (intentId, chargedAt) => {
      const created = { gte: toUnixSeconds(chargedAt) };
      try {
        for await (const event of stripe.events.list({ types: ['payment_intent.succeeded'], created, limit: 100 }))
          if (tryParseEvent(event)?.objectId === intentId) return fromUnixSeconds(event.created);
      } catch (error) {
        throw toProcessorError(error);
      }
      return null;
    },

    verifyEvent: (body, signature) => {
      let problem: unknown;
      for (const secret of new Set([webhookSecret, connectWebhookSecret])) {
        let event: unknown;
        try {
          event = stripe.webhooks.constructEvent(body, signature, secret, SIGNATURE_TOLERANCE_SECONDS);
        } catch (error) {
          // The other secret does not match a body whose signature matches this one.
          if (!isSignatureInvalid(error) || problem === undefined) problem = error;
          continue;
        }
        return parseEvent(event);
      }
      throw new ProcessorError('rejected', describeInvalidEvent(problem), { cause: problem });
    },
  } satisfies Partial<PaymentProcessor>;
}

function isSignatureInvalid(error: unknown): boolean {
  return error instanceof Stripe.errors.StripeSignatureVerificationError;
}

function describeInvalidEvent(problem: unknown): string {
  if (isSignatureInvalid(problem)) return 'Stripe-Signature does not match the body, or is too old.';
  if (problem instanceof SyntaxError) return 'The body is not valid JSON.';
  return 'The body is a thin event, which is not supported. Set the payload style of the endpoint to "Snapshot".';
}

/** Yields events, page after page. */
async function* listEvents(list: AsyncIterable<Stripe.Event>): AsyncIterable<EventWithPayload> {
  try {
    for await (const event of list) {
      const known = tryParseEvent(event);
      // Skips an event that the webhook would reject, so that the others are fetched.
      if (known !== null) yield { ...known, payload: JSON.stringify(event) };
    }
  } catch (error) {
    throw toProcessorError(error);
  }
}

/**
 * Returns null for an event of an unused type without an object that has an id, such as `balance.available`.
 * @throws ProcessorError `rejected` if it is not an event.
 */
function parseEvent(event: unknown): ProcessorEvent | null {
  const known = tryParseEvent(event);
  if (known !== null) return known;
  const { id, type } = (event ?? {}) as { id?: unknown; type?: unknown };
  const isUsed = EVENT_TYPES.some((used) => used === type);
  if (isStripeIdentifier(id) && isStripeIdentifier(type) && !isUsed) return null;
  throw new ProcessorError('rejected', 'The body is not an event: id, type and data.object.id are needed.');
}

function tryParseEvent(event: unknown): ProcessorEvent | null {
  const { id, type, data } = (event ?? {}) as {
    id?: unknown;
    type?: unknown;
    data?: {
      object?: { id?: unknown; customer?: unknown } | null;
      previous_attributes?: { customer?: unknown };
    } | null;
  };
  const object = data?.object;
  if (!isStripeIdentifier(id) || !isStripeIdentifier(type) || !isStripeIdentifier(object?.id)) return null;
  if (!type.startsWith('payment_method.')) return { id, type, objectId: object.id };
  // The customer is synced. A detached payment method has none, so its previous one is used.
  const customer = object.customer ?? data?.previous_attributes?.customer;
  return { id, type, objectId: isStripeIdentifier(customer) ? customer : object.id };
}

/** Returns whether a value can be an id or a type of Stripe's. */
function isStripeIdentifier(value: unknown): value is string {
  return typeof value === 'string' && /^[\x21-\x7e]{1,255}$/.test(value);
}
