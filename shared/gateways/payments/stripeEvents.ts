import Stripe from 'stripe';
import { EVENT_TYPES } from './eventTypes.ts';
import { type PaymentProcessor, ProcessorError } from './paymentProcessor.ts';
import { toUnixSeconds } from './stripeMappers.ts';
import { listEvents, listIds, parseEvent, unwrap } from './stripeResponses.ts';
import { SIGNATURE_TOLERANCE_SECONDS } from './webhookSignature.ts';

type EventMethods = Pick<
  PaymentProcessor,
  'listOpenSubscriptions' | 'listSubscriptionsSince' | 'listPaymentsSince' | 'listEventsSince' | 'verifyEvent'
>;

interface EventContext {
  stripe: Stripe;
  webhookSecret: string;
  connectWebhookSecret: string;
}

/** The maximum number of types that one list of events may name. */
const EVENT_TYPES_MAX = 20;

/** Builds the methods that verify webhooks, and that list objects and events for reconciliation. */
export function buildEventMethods({ stripe, webhookSecret, connectWebhookSecret }: EventContext): EventMethods {
  return {
    listOpenSubscriptions: async (customerId) => {
      const { data } = await unwrap(stripe.subscriptions.list({ customer: customerId, limit: 20 }));
      return data.map(({ id }) => id);
    },
    listSubscriptionsSince: (since) =>
      listIds(stripe.subscriptions.list({ status: 'all', created: { gte: toUnixSeconds(since) } })),
    listPaymentsSince: (since) => listIds(stripe.paymentIntents.list({ created: { gte: toUnixSeconds(since) } })),

    listEventsSince: async function* (since) {
      for (let from = 0; from < EVENT_TYPES.length; from += EVENT_TYPES_MAX) {
        const types = EVENT_TYPES.slice(from, from + EVENT_TYPES_MAX);
        yield* listEvents(stripe.events.list({ types, created: { gte: toUnixSeconds(since) }, limit: 100 }));
      }
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
  };
}

function isSignatureInvalid(error: unknown): boolean {
  return error instanceof Stripe.errors.StripeSignatureVerificationError;
}

function describeInvalidEvent(problem: unknown): string {
  if (isSignatureInvalid(problem)) return 'Stripe-Signature does not match the body, or is too old.';
  if (problem instanceof SyntaxError) return 'The body is not valid JSON.';
  return 'The body is a thin event, which is not supported. Set the payload style of the endpoint to "Snapshot".';
}
