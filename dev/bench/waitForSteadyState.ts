import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from 'pg';
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

/** Counts the generations that have not ended. */
export async function countQueued(client: Client): Promise<number> {
  const { rows } = await client.query<{ queued: number }>('SELECT sum(in_flight)::int AS queued FROM accounts');
  return rows[0]?.queued ?? 0;
}

/** The worker probes the models when it starts; the seeded probe times are in the future until then. */
export async function waitForWorker(client: Client): Promise<void> {
  await waitForSteadyState(async () => {
    const { rowCount } = await client.query('SELECT 1 FROM upstream_health WHERE probed_at > now()');
    return rowCount === 0;
  });
  await delay(1_000);
}
