import type { Route } from '../../gateways/upstreams/index.ts';
import { addMilliseconds, now } from '../../lib/clock.ts';
import { db, prepared, run } from '../../lib/db.ts';
import { claimOldest } from './claim.ts';
import type { Job } from './steps.ts';

/**
 * Upstreams whose use is limited: so many jobs under way at a time, so many submits a minute, over all workers. Who
 * hands jobs to one locks its row first, so that two workers never count the same room. Jobs under way are counted,
 * not kept count of: nothing has to be given back when a job ends or a worker dies.
 */

const TAKE_TURN = prepared(
  'take_turn',
  `INSERT INTO upstream_turns AS t (upstream, next_submit_at) VALUES (:upstream, :now)
   ON CONFLICT (upstream) DO UPDATE SET next_submit_at = greatest(t.next_submit_at, excluded.next_submit_at)
   RETURNING next_submit_at`,
);

const END_TURN = prepared('end_turn', 'UPDATE upstream_turns SET next_submit_at = :next WHERE upstream = :upstream');

/**
 * Claims the oldest jobs that wait for an upstream, as many as its limits leave room for.
 * @param routes all the ways that lead to one upstream now.
 * @param limit how many this process can take.
 * @returns them, and in how many milliseconds the rate leaves room for another; 0 where it does already.
 */
export async function claimTurn(routes: Route[], limit: number): Promise<{ jobs: Job[]; waitMs: number }> {
  const { name, perMinute } = (routes[0] as Route).upstream;
  return db.transaction(async (transaction) => {
    const at = now();
    const [turn] = await run<{ next_submit_at: Date }>(TAKE_TURN, { upstream: name, now: at }, transaction);
    if (perMinute === null) return { jobs: await claimOldest(transaction, routes, limit, at), waitMs: 0 };
    const rate = rateOf(perMinute);
    // How far ahead of an even pace the next submit is already.
    const aheadMs = (turn as { next_submit_at: Date }).next_submit_at.getTime() - at.getTime();
    const room = Math.floor(rate.burst - aheadMs / rate.intervalMs);
    if (room < 1) return { jobs: [], waitMs: Math.ceil(aheadMs - (rate.burst - 1) * rate.intervalMs) };
    const jobs = await claimOldest(transaction, routes, Math.min(limit, room), at);
    const next = addMilliseconds(at, aheadMs + jobs.length * rate.intervalMs);
    await run(END_TURN, { upstream: name, next }, transaction);
    return { jobs, waitMs: jobs.length === room ? Math.ceil(rate.intervalMs) : 0 };
  });
}

/** Evenly over the minute, with a second's worth at once. */
function rateOf(perMinute: number): { intervalMs: number; burst: number } {
  return { intervalMs: 60_000 / perMinute, burst: Math.max(1, Math.ceil(perMinute / 60)) };
}
