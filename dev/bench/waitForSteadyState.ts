import { waitUntil } from '../local/servers/processes.ts';

/** Maximum time for a round to reach its steady state, or its end. */
const STEADY_STATE_TIMEOUT_MS = 120_000;

/**
 * Checks a condition every 20 ms, which costs nothing, until it holds.
 * @throws Error after two minutes.
 */
export async function waitForSteadyState(isReached: () => Promise<boolean>): Promise<void> {
  if (!(await waitUntil(isReached, STEADY_STATE_TIMEOUT_MS)))
    throw new Error('The pipeline reached no steady state within two minutes.');
}
