import Stripe from 'stripe';
import { now } from '../../lib/clock.ts';
import { MINUTE_MS } from '../../spec/durations.ts';
import type { Plan } from '../../spec/plans.ts';
import { ProcessorError } from './paymentProcessor.ts';
import type { PlanPrices } from './stripeMappers.ts';

const TIMEOUT_MS = 4_000;
/** Stripe's library retries requests that may be repeated, under the same idempotency key. */
const MAX_NETWORK_RETRIES = 1;

export interface StripeOptions {
  secretKey: string;
  webhookSecret: string;
  /** Secret of the webhook for connected accounts, if there is a separate one. */
  connectWebhookSecret?: string;
  prices: PlanPrices;
  /** The plans that these are the prices of. */
  plans: readonly Plan[];
  /** The id of a portal configuration. Default: the default configuration of the Stripe account. */
  portalConfiguration?: string;
  /** Another address than Stripe's own. */
  apiBase?: string;
  /** True if Stripe computes tax and adds it to every payment. */
  collectsTax: boolean;
  /** True if checkout pages accept promotion codes. */
  acceptsPromotionCodes: boolean;
}

/** Creates a client of Stripe's library, for Stripe's own address or another one. */
export function createStripeClient(secretKey: string, apiBase?: string): Stripe {
  const base = apiBase === undefined ? undefined : new URL(apiBase);
  return new Stripe(secretKey, {
    timeout: TIMEOUT_MS,
    maxNetworkRetries: MAX_NETWORK_RETRIES,
    telemetry: false,
    ...(base && {
      host: base.hostname,
      port: base.port || (base.protocol === 'https:' ? 443 : 80),
      protocol: base.protocol === 'https:' ? ('https' as const) : ('http' as const),
    }),
  });
}

/** Yields the ids of a list, page after page. */
export async function* listIds(list: AsyncIterable<{ id: string }>): AsyncIterable<string> {
  try {
    for await (const { id } of list) yield id;
  } catch (error) {
    throw toProcessorError(error);
  }
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

/** Makes a request that may be rejected because the state of its object has changed meanwhile. */
export async function ignoreIfRejected(request: Promise<unknown>): Promise<void> {
  await unwrap(request).catch((error: unknown) => {
    if (!(error instanceof ProcessorError) || error.fault !== 'rejected') throw error;
  });
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
