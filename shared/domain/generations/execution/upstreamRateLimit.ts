import { addMilliseconds, now } from '../../../lib/clock.ts';
import { db } from '../../../lib/database/pool.ts';
import { prepared, runStatement } from '../../../lib/database/preparedStatements.ts';
import { claimOldest } from './claim.ts';
import type { ActiveRoute } from './modelHealth.ts';
import type { UpstreamRateLimit } from '../../../tables/UpstreamRateLimit.ts';
import type { ClaimedGeneration } from './step.ts';

/**
 * Limits of an upstream over all workers: concurrent generations, and submits per minute (GCRA). A worker locks the
 * upstream's row before it claims, so that two workers never use the same free slot. Running generations are counted
 * and not stored as a counter, so nothing has to be released when one ends or a worker dies.
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

type RateLimitRow = Pick<UpstreamRateLimit, 'theoretical_arrival_at'>;

export interface ClaimBatch {
  generations: ClaimedGeneration[];
  /** Time until the rate allows the next submit; 0 if it allows one now. */
  waitMs: number;
}

/**
 * Claims the oldest generations that wait for an upstream, within its limits.
 * @param routes every active route that leads to this upstream.
 * @param limit free submit slots of this process.
 */
export async function claimWithinLimits(routes: ActiveRoute[], limit: number): Promise<ClaimBatch> {
  const { name, perMinute } = (routes[0] as ActiveRoute).upstream;
  return db.transaction(async (transaction) => {
    const at = now();
    const [row] = await runStatement<RateLimitRow>(LOCK_RATE_LIMIT, { upstream: name, now: at }, transaction);
    if (perMinute === null) return { generations: await claimOldest(transaction, routes, limit, at), waitMs: 0 };
    const rate = computeRate(perMinute);
    // Lead of the theoretical arrival time over an even pace.
    const aheadMs = (row as RateLimitRow).theoretical_arrival_at.getTime() - at.getTime();
    const capacity = Math.floor(rate.burst - aheadMs / rate.intervalMs);
    if (capacity < 1) return { generations: [], waitMs: Math.ceil(aheadMs - (rate.burst - 1) * rate.intervalMs) };
    const generations = await claimOldest(transaction, routes, Math.min(limit, capacity), at);
    const next = addMilliseconds(at, aheadMs + generations.length * rate.intervalMs);
    await runStatement(UPDATE_RATE_LIMIT, { upstream: name, next }, transaction);
    return { generations, waitMs: generations.length === capacity ? Math.ceil(rate.intervalMs) : 0 };
  });
}

/** Spreads submits evenly over the minute, with a burst of one second's worth. */
function computeRate(perMinute: number): { intervalMs: number; burst: number } {
  return { intervalMs: 60_000 / perMinute, burst: Math.max(1, Math.ceil(perMinute / 60)) };
}
