import type { IncomingMessage, ServerResponse } from 'node:http';
import { INTERNAL_ERROR, StripeApiError } from './stripeApiError.ts';
import type { StripeRequestName } from './routes.ts';

/**
 * The fault of a request:
 * - `error`: 500 without executing the request; `error kept` is also kept under the idempotency key, as Stripe does
 *   when execution fails, so that every retry gets it for a day
 * - `busy`: 429
 * - `hang`: no response, not executed; `hang after doing`: no response, but executed
 * - `drop`: the connection is closed, not executed; `drop after doing`: closed, but executed
 */
export type Fault = 'error' | 'error kept' | 'busy' | 'hang' | 'hang after doing' | 'drop' | 'drop after doing';

/** Faults by request name, or `all` for the others; until removed, or a number of times. */
export type Faults = Partial<Record<StripeRequestName | 'all', Fault | { how: Fault; times: number }>>;

/** Returns the fault of this request and counts it. */
export function takeFault(faults: Faults, name: StripeRequestName): Fault | undefined {
  const key = faults[name] === undefined ? 'all' : name;
  const fault = faults[key];
  if (typeof fault !== 'object') return fault;
  fault.times -= 1;
  if (fault.times <= 0) delete faults[key];
  return fault.how;
}

/** Applies a fault before execution. @returns whether the request is finished. */
export function applyFaultBefore(fault: Fault | undefined, request: IncomingMessage): boolean {
  if (fault === 'drop') request.socket.destroy();
  if (fault === 'busy') {
    throw new StripeApiError(429, { code: 'rate_limit', message: 'Request rate limit exceeded.' });
  }
  if (fault === 'error') throw INTERNAL_ERROR;
  return fault === 'hang' || fault === 'drop';
}

/** Applies a fault after execution. @returns whether the request is finished. */
export function applyFaultAfter(fault: Fault | undefined, response: ServerResponse): boolean {
  if (fault === 'drop after doing') response.socket?.destroy();
  return fault === 'hang after doing' || fault === 'drop after doing';
}
