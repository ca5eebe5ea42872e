import Stripe from 'stripe';
import { now } from '../../lib/clock.ts';
import { type ProcessorEvent, ProcessorError, type ToldEvent } from './processor.ts';

/** What Stripe's library answers and throws, in the terms of `processor.ts`. */

/** The ids of a list, page after page. */
export async function* ids(list: AsyncIterable<{ id: string }>): AsyncIterable<string> {
  try {
    for await (const { id } of list) yield id;
  } catch (error) {
    throw asProcessorError(error);
  }
}

/** Its events, page after page. */
export async function* told(list: AsyncIterable<Stripe.Event>): AsyncIterable<ToldEvent> {
  try {
    for await (const event of list) {
      const known = eventIn(event);
      // One that no webhook would take is not to keep the others from being fetched.
      if (known !== null) yield { ...known, payload: JSON.stringify(event) };
    }
  } catch (error) {
    throw asProcessorError(error);
  }
}

/** @throws ProcessorError `refused` where it is none. */
export function asEvent(event: unknown): ProcessorEvent {
  const known = eventIn(event);
  if (known !== null) return known;
  throw new ProcessorError('refused', 'The body is not an event: id, type and data.object.id are needed.');
}

function eventIn(event: unknown): ProcessorEvent | null {
  const { id, type, data } = (event ?? {}) as {
    id?: unknown;
    type?: unknown;
    data?: {
      object?: { id?: unknown; customer?: unknown } | null;
      previous_attributes?: { customer?: unknown };
    } | null;
  };
  const object = data?.object;
  if (!isName(id) || !isName(type) || !isName(object?.id)) return null;
  if (!type.startsWith('payment_method.')) return { id, type, objectId: object.id };
  // What is synced is the customer; one that was detached has none any more.
  const customer = object.customer ?? data?.previous_attributes?.customer;
  return { id, type, objectId: isName(customer) ? customer : object.id };
}

/** What an id or a type of Stripe's may be. */
function isName(value: unknown): value is string {
  return typeof value === 'string' && /^[\x21-\x7e]{1,255}$/.test(value);
}

/** What Stripe answers, or its error in our terms. */
export async function said<Answer>(question: Promise<Answer>): Promise<Answer> {
  try {
    return await question;
  } catch (error) {
    throw asProcessorError(error);
  }
}

/** The same, but null where Stripe knows no such thing. */
export async function found<Answer>(question: Promise<Answer>): Promise<Answer | null> {
  try {
    return await question;
  } catch (error) {
    if (error instanceof Stripe.errors.StripeInvalidRequestError && error.code === 'resource_missing') return null;
    if (isLostAccount(error)) return null;
    throw asProcessorError(error);
  }
}

/**
 * Waits for what need not be done where Stripe answers with one of these codes.
 * @returns the code that Stripe answered with; null where it was done.
 */
export async function unlessDone(order: Promise<unknown>, codes: string[]): Promise<string | null> {
  try {
    await order;
    return null;
  } catch (error) {
    if (error instanceof Stripe.errors.StripeError && codes.includes(error.code ?? '')) return error.code as string;
    throw asProcessorError(error);
  }
}

const MINUTE_MS = 60_000;

/**
 * Makes a request under an idempotency key. Stripe keeps a rejection under its key for a day, even when its cause is
 * gone. A rejected request has changed nothing, so it is sent again under another key.
 */
export async function underKey<Answer>(
  key: string,
  request: (options: { idempotencyKey: string }) => Promise<Answer>,
): Promise<Answer> {
  try {
    return await request({ idempotencyKey: key });
  } catch (error) {
    if (!isKeptRejection(error)) throw error;
    return request({ idempotencyKey: `${key}-${Math.floor(now().getTime() / MINUTE_MS)}` });
  }
}

function isKeptRejection(error: unknown): boolean {
  if (!(error instanceof Stripe.errors.StripeError)) return false;
  const isReplayed = error.headers?.['idempotent-replayed'] === 'true';
  return isReplayed && asProcessorError(error).fault === 'refused';
}

/** An error of Stripe's library in our terms. */
export function asProcessorError(error: unknown): ProcessorError {
  const {
    message: said,
    statusCode,
    code,
    param,
  } = error as Error & { statusCode?: number; code?: string; param?: string };
  // Of what somebody's connected account does not let us do, or no longer, our key can be as good as ever.
  const isOfAccount = statusCode === 403 && (isLostAccount(error) || isAccountParam(param));
  const isOfKey = !isOfAccount && [401, 403].includes(statusCode ?? 0);
  const message = isOfKey ? `Stripe refuses STRIPE_SECRET_KEY: ${said}` : said;
  // A key that was used for something else says nothing of what became of that; nor does a secret that is refused.
  const isUnknown =
    error instanceof Stripe.errors.StripeIdempotencyError || isOfKey || [409, 429].includes(statusCode ?? 0);
  const isRefusal =
    !isUnknown && error instanceof Stripe.errors.StripeError && statusCode !== undefined && statusCode < 500;
  const isMissing = code === 'resource_missing';
  return new ProcessorError(isRefusal ? 'refused' : 'away', message, {
    cause: error,
    isCustomerGone: isMissing && param === 'customer',
    isConnectedAccountGone: isLostAccount(error) || (isMissing && isAccountParam(param)),
  });
}

/** Where requests name a connected account. */
function isAccountParam(param: string | undefined): boolean {
  return param === 'account' || param === 'destination';
}

/** So Stripe says that a connected account is gone, or was taken away from us, where not that it is missing. */
function isLostAccount(error: unknown): boolean {
  return error instanceof Stripe.errors.StripeError && error.code === 'account_invalid';
}
