import type { RestResponse } from './restRequests.ts';
import { sleepUnlessStopped, type Step } from './clientState.ts';

/** Attempts of a client with an idempotency key while the outcome of its request is unknown. */
const MAX_ATTEMPTS = 5;

/**
 * Repeats a request until its outcome is known. Only for idempotent requests.
 * @param send sends it; receives the number of the attempt, from 0.
 */
export async function retryUntilKnown<Observed extends Pick<RestResponse, 'isUnknown'>>(
  step: Step,
  send: (attempt: number) => Promise<Observed>,
  tries = MAX_ATTEMPTS,
): Promise<Observed> {
  for (let attempt = 0; ; attempt += 1) {
    const response = await send(attempt);
    if (!response.isUnknown || attempt + 1 >= tries) return response;
    await sleepUnlessStopped(step.state, step.random.nextBetween(200, 1_000));
  }
}
