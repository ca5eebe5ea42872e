import type { RestResponse } from './restRequests.ts';
import { sleepUnlessStopped, type Step } from './clientState.ts';

/** A client that has a name for its request sends it again so often, where nobody knows what became of it. */
const MAX_ATTEMPTS = 5;

/**
 * Sends a request until it is known what became of it. Only for what may be sent again.
 * @param send sends it; it gets the number of the try, from 0.
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
