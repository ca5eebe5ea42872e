import type { UpstreamRoute } from '../../../gateways/upstreams/index.ts';
import { addMilliseconds, now } from '../../../lib/clock.ts';
import { db, prepared, runStatement } from '../../../lib/db.ts';
import { claimOldest } from './claim.ts';
import type { ClaimedGeneration } from './transition.ts';

/**
 * Upstreams whose use is limited: so many jobs under way at a time, so many submits a minute, over all workers. Who
 * hands jobs to one locks its row first, so that two workers never count the same room. Jobs under way are counted,
 * not kept count of: nothing has to be given back when a job ends or a worker dies.
 */

const LOCK_RATE_LIMIT = prepared(
  'lock_upstream_rate_limit',
  `INSERT INTO upstream_rate_limits AS t (upstream, theoretical_arrival_at) VALUES (:upstream, :now)
   ON CONFLICT (upstream) DO UPDATE SET theoretical_arrival_at = greatest(t.theoretical_arrival_at, excluded.theoretical_arrival_at)
   RETURNING theoretical_arrival_at`,
);

const UPDATE_RATE_LIMIT = prepared(
  'update_upstream_rate_limit',
  'UPDATE upstream_rate_limits SET theoretical_arrival_at = :next WHERE upstream = :upstream',
);

/**
 * Claims the oldest jobs that wait for an upstream, as many as its limits leave room for.
 * @param routes all the ways that lead to one upstream now.
 * @param limit how many this process can take.
 * @returns them, and in how many milliseconds the rate leaves room for another; 0 where it does already.
 */
export async function claimWithinLimits(
  routes: UpstreamRoute[],
  limit: number,
): Promise<{ jobs: ClaimedGeneration[]; waitMs: number }> {
  const { name, perMinute } = (routes[0] as UpstreamRoute).upstream;
  return db.transaction(async (transaction) => {
    const at = now();
    const [row] = await runStatement<{ theoretical_arrival_at: Date }>(
      LOCK_RATE_LIMIT,
      { upstream: name, now: at },
      transaction,
    );
    if (perMinute === null) return { jobs: await claimOldest(transaction, routes, limit, at), waitMs: 0 };
    const rate = computeRate(perMinute);
    // How far ahead of an even pace the next submit is already.
    const aheadMs = (row as { theoretical_arrival_at: Date }).theoretical_arrival_at.getTime() - at.getTime();
    const capacity = Math.floor(rate.burst - aheadMs / rate.intervalMs);
    if (capacity < 1) return { jobs: [], waitMs: Math.ceil(aheadMs - (rate.burst - 1) * rate.intervalMs) };
    const jobs = await claimOldest(transaction, routes, Math.min(limit, capacity), at);
    const next = addMilliseconds(at, aheadMs + jobs.length * rate.intervalMs);
    await runStatement(UPDATE_RATE_LIMIT, { upstream: name, next }, transaction);
    return { jobs, waitMs: jobs.length === capacity ? Math.ceil(rate.intervalMs) : 0 };
  });
}

/** Evenly over the minute, with a second's worth at once. */
function computeRate(perMinute: number): { intervalMs: number; burst: number } {
  return { intervalMs: 60_000 / perMinute, burst: Math.max(1, Math.ceil(perMinute / 60)) };
}
