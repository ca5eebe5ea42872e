import { setTimeout as delay } from 'node:timers/promises';

/** No round may take longer than this to come to its steady state, or to its end. */
const STEADY_STATE_TIMEOUT_MS = 120_000;

/**
 * Asks every 20 ms, which costs nothing, until it is so.
 * @throws Error when it is not within two minutes.
 */
export async function waitForSteadyState(isReached: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + STEADY_STATE_TIMEOUT_MS;
  while (!(await isReached())) {
    if (performance.now() > deadline) throw new Error('The pipeline did not get on within two minutes.');
    await delay(20);
  }
}
