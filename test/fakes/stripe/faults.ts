import type { IncomingMessage, ServerResponse } from 'node:http';
import { StripeApiError } from './stripeApiError.ts';
import type { StripeRequestName } from './routes.ts';

/**
 * What is done with a request in the place of what should be:
 * - `error`: 500 before anything was done; `error kept` is also kept under the idempotency key, as Stripe does when it
 *   breaks in the middle, so that every repetition is answered with it for a day
 * - `busy`: 429
 * - `hang`: no answer, nothing done; `hang after doing`: no answer, but done
 * - `drop`: the connection is cut, nothing done; `drop after doing`: cut, but done
 */
export type Fault = 'error' | 'error kept' | 'busy' | 'hang' | 'hang after doing' | 'drop' | 'drop after doing';

/** By the name of a request, or for all that have none of their own; until it is removed, or so many times. */
export type Faults = Partial<Record<StripeRequestName | 'all', Fault | { how: Fault; times: number }>>;

/** The fault that this request is to have, counted. */
export function takeFault(faults: Faults, name: StripeRequestName): Fault | undefined {
  const key = faults[name] === undefined ? 'all' : name;
  const fault = faults[key];
  if (typeof fault !== 'object') return fault;
  fault.times -= 1;
  if (fault.times <= 0) delete faults[key];
  return fault.how;
}

/** @returns whether the request has had its answer, or will never have one. */
export function applyFaultBefore(fault: Fault | undefined, request: IncomingMessage): boolean {
  if (fault === 'drop') request.socket.destroy();
  if (fault === 'busy') {
    throw new StripeApiError(429, { code: 'rate_limit', message: 'Request rate limit exceeded.' });
  }
  if (fault === 'error') throw INTERNAL_ERROR;
  return fault === 'hang' || fault === 'drop';
}

/** The same, for what was done. */
export function applyFaultAfter(fault: Fault | undefined, response: ServerResponse): boolean {
  if (fault === 'drop after doing') response.socket?.destroy();
  return fault === 'hang after doing' || fault === 'drop after doing';
}

export const INTERNAL_ERROR = new StripeApiError(500, {
  type: 'api_error',
  message: 'An unknown error occurred while the stand-in did what it was told.',
});
