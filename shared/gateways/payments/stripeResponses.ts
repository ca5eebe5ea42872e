import Stripe from 'stripe';
import { now } from '../../lib/clock.ts';
import { type ProcessorEvent, ProcessorError, type EventWithPayload } from './paymentProcessor.ts';

/** What Stripe's library answers and throws, in the terms of `processor.ts`. */

/** The ids of a list, page after page. */
export async function* listIds(list: AsyncIterable<{ id: string }>): AsyncIterable<string> {
  try {
    for await (const { id } of list) yield id;
  } catch (error) {
    throw toProcessorError(error);
  }
}

/** Its events, page after page. */
export async function* listEvents(list: AsyncIterable<Stripe.Event>): AsyncIterable<EventWithPayload> {
  try {
    for await (const event of list) {
      const known = tryParseEvent(event);
      // One that no webhook would take is not to keep the others from being fetched.
      if (known !== null) yield { ...known, payload: JSON.stringify(event) };
    }
  } catch (error) {
    throw toProcessorError(error);
  }
}

/** @throws ProcessorError `refused` where it is none. */
export function parseEvent(event: unknown): ProcessorEvent {
  const known = tryParseEvent(event);
  if (known !== null) return known;
  throw new ProcessorError('refused', 'The body is not an event: id, type and data.object.id are needed.');
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
  // What is synced is the customer; one that was detached has none any more.
  const customer = object.customer ?? data?.previous_attributes?.customer;
  return { id, type, objectId: isStripeIdentifier(customer) ? customer : object.id };
}

/** What an id or a type of Stripe's may be. */
function isStripeIdentifier(value: unknown): value is string {
  return typeof value === 'string' && /^[\x21-\x7e]{1,255}$/.test(value);
}

/** What Stripe answers, or its error in our terms. */
export async function unwrap<Answer>(request: Promise<Answer>): Promise<Answer> {
  try {
    return await request;
  } catch (error) {
    throw toProcessorError(error);
  }
}

/** The same, but null where Stripe knows no such thing. */
export async function findOrNull<Answer>(request: Promise<Answer>): Promise<Answer | null> {
  try {
    return await request;
  } catch (error) {
    if (error instanceof Stripe.errors.StripeInvalidRequestError && error.code === 'resource_missing') return null;
    if (isConnectedAccountInvalid(error)) return null;
    throw toProcessorError(error);
  }
}

/**
 * Waits for what need not be done where Stripe answers with one of these codes.
 * @returns the code that Stripe answered with; null where it was done.
 */
export async function ignoreIfAlreadyDone(request: Promise<unknown>, codes: string[]): Promise<string | null> {
  try {
    await request;
    return null;
  } catch (error) {
    if (error instanceof Stripe.errors.StripeError && codes.includes(error.code ?? '')) return error.code as string;
    throw toProcessorError(error);
  }
}

const MINUTE_MS = 60_000;

/**
 * Makes a request under an idempotency key. Stripe keeps a rejection under its key for a day, even when its cause is
 * gone. A rejected request has changed nothing, so it is sent again under another key.
 */
export async function withIdempotencyKey<Answer>(
  key: string,
  request: (options: { idempotencyKey: string }) => Promise<Answer>,
): Promise<Answer> {
  try {
    return await request({ idempotencyKey: key });
  } catch (error) {
    if (!isReplayedRejection(error)) throw error;
    return request({ idempotencyKey: `${key}-${Math.floor(now().getTime() / MINUTE_MS)}` });
  }
}

function isReplayedRejection(error: unknown): boolean {
  if (!(error instanceof Stripe.errors.StripeError)) return false;
  const isReplayed = error.headers?.['idempotent-replayed'] === 'true';
  return isReplayed && toProcessorError(error).fault === 'refused';
}

/** An error of Stripe's library in our terms. */
export function toProcessorError(error: unknown): ProcessorError {
  const {
    message: stripeMessage,
    statusCode,
    code,
    param,
  } = error as Error & { statusCode?: number; code?: string; param?: string };
  // Of what somebody's connected account does not let us do, or no longer, our key can be as good as ever.
  const isAccountProblem = statusCode === 403 && (isConnectedAccountInvalid(error) || isAccountParam(param));
  const isApiKeyProblem = !isAccountProblem && [401, 403].includes(statusCode ?? 0);
  const message = isApiKeyProblem ? `Stripe refuses STRIPE_SECRET_KEY: ${stripeMessage}` : stripeMessage;
  // A key that was used for something else says nothing of what became of that; nor does a secret that is refused.
  const isOutcomeUnknown =
    error instanceof Stripe.errors.StripeIdempotencyError || isApiKeyProblem || [409, 429].includes(statusCode ?? 0);
  const isRejection =
    !isOutcomeUnknown && error instanceof Stripe.errors.StripeError && statusCode !== undefined && statusCode < 500;
  const isMissing = code === 'resource_missing';
  return new ProcessorError(isRejection ? 'refused' : 'away', message, {
    cause: error,
    isCustomerGone: isMissing && param === 'customer',
    isConnectedAccountGone: isConnectedAccountInvalid(error) || (isMissing && isAccountParam(param)),
  });
}

/** Where requests name a connected account. */
function isAccountParam(param: string | undefined): boolean {
  return param === 'account' || param === 'destination';
}

/** So Stripe says that a connected account is gone, or was taken away from us, where not that it is missing. */
function isConnectedAccountInvalid(error: unknown): boolean {
  return error instanceof Stripe.errors.StripeError && error.code === 'account_invalid';
}
