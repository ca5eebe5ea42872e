import Stripe from 'stripe';
import { now } from '../../lib/clock.ts';
import { EVENT_TYPES } from './eventTypes.ts';
import { type ProcessorEvent, ProcessorError, type EventWithPayload } from './paymentProcessor.ts';
import { MINUTE_MS } from '../../spec/durations.ts';

/** Maps responses and errors of Stripe's library to those of `paymentProcessor.ts`. */

/** Yields the ids of a list, page after page. */
export async function* listIds(list: AsyncIterable<{ id: string }>): AsyncIterable<string> {
  try {
    for await (const { id } of list) yield id;
  } catch (error) {
    throw toProcessorError(error);
  }
}

/** Yields events, page after page. */
export async function* listEvents(list: AsyncIterable<Stripe.Event>): AsyncIterable<EventWithPayload> {
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
export function parseEvent(event: unknown): ProcessorEvent | null {
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

/** Returns the response. @throws ProcessorError in place of Stripe's errors. */
export async function unwrap<Response>(request: Promise<Response>): Promise<Response> {
  try {
    return await request;
  } catch (error) {
    throw toProcessorError(error);
  }
}

/** Returns the response, or null if the object does not exist at Stripe. */
export async function findOrNull<Response>(request: Promise<Response>): Promise<Response | null> {
  try {
    return await request;
  } catch (error) {
    if (error instanceof Stripe.errors.StripeInvalidRequestError && error.code === 'resource_missing') return null;
    if (isConnectedAccountInvalid(error)) return null;
    throw toProcessorError(error);
  }
}

/**
 * Waits for a request that need not succeed if Stripe responds with one of these error codes.
 * @returns the error code, or null if the request succeeded.
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

/**
 * Makes a request under an idempotency key. Stripe keeps a rejection under its key for a day, even when its cause is
 * gone. A rejected request has changed nothing, so it is sent again under another key.
 */
export async function withIdempotencyKey<Response>(
  key: string,
  request: (options: { idempotencyKey: string }) => Promise<Response>,
): Promise<Response> {
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
  return isReplayed && toProcessorError(error).fault === 'rejected';
}

/** Converts an error of Stripe's library. */
export function toProcessorError(error: unknown): ProcessorError {
  const {
    message: stripeMessage,
    statusCode,
    code,
    param,
  } = error as Error & { statusCode?: number; code?: string; param?: string };
  // A connected account that denies access says nothing about the secret key.
  const isAccountProblem = statusCode === 403 && (isConnectedAccountInvalid(error) || isAccountParam(param));
  const isApiKeyProblem = !isAccountProblem && [401, 403].includes(statusCode ?? 0);
  const message = isApiKeyProblem ? `Stripe rejects STRIPE_SECRET_KEY: ${stripeMessage}` : stripeMessage;
  // The outcome is unknown if the idempotency key belongs to another request, or if the secret key is rejected.
  const isOutcomeUnknown =
    error instanceof Stripe.errors.StripeIdempotencyError || isApiKeyProblem || [409, 429].includes(statusCode ?? 0);
  const isRejection =
    !isOutcomeUnknown && error instanceof Stripe.errors.StripeError && statusCode !== undefined && statusCode < 500;
  const isMissing = code === 'resource_missing';
  return new ProcessorError(isRejection ? 'rejected' : 'unavailable', message, {
    cause: error,
    isCustomerGone: isMissing && param === 'customer',
    isConnectedAccountGone: isConnectedAccountInvalid(error) || (isMissing && isAccountParam(param)),
    isAddressMissing: code === 'customer_tax_location_invalid',
  });
}

/** Returns whether a parameter names a connected account. */
function isAccountParam(param: string | undefined): boolean {
  return param === 'account' || param === 'destination';
}

/** Returns whether Stripe reports that a connected account was deleted or disconnected, other than as missing. */
function isConnectedAccountInvalid(error: unknown): boolean {
  return error instanceof Stripe.errors.StripeError && error.code === 'account_invalid';
}
