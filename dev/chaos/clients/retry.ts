import type { RestResponse } from './restRequests.ts';
import { sleepUnlessStopped, type Step } from './clientState.ts';

/** Attempts of a client with an idempotency key while the outcome of its request is unknown. */
const MAX_ATTEMPTS = 5;

/**
 * Repeats a request until its outcome is known. Only for idempotent requests.
 * @param send sends it; receives the number of the attempt, from 0.
 */
export async function retryUntilKnown<Told extends Pick<RestResponse, 'isUnknown'>>(
  step: Step,
  send: (attempt: number) => Promise<Told>,
  tries = MAX_ATTEMPTS,
): Promise<Told> {
  for (let attempt = 0; ; attempt += 1) {
    const answer = await send(attempt);
    if (!answer.isUnknown || attempt + 1 >= tries) return answer;
    await sleepUnlessStopped(step.state, step.random.nextBetween(200, 1_000));
  }
}
