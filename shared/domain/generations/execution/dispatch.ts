import { usesDispatchLoop } from '../../../gateways/upstreams/index.ts';
import { createBatcher } from '../../../lib/batcher.ts';
import { addMilliseconds, now } from '../../../lib/clock.ts';
import { config } from '../../../lib/config.ts';
import { db } from '../../../lib/database/pool.ts';
import { prepared, runStatement } from '../../../lib/database/preparedStatements.ts';
import { isDraining, trackInFlight } from '../../../lib/drain.ts';
import { logger } from '../../../lib/logger.ts';
import { perService } from '../../../lib/serviceScope.ts';
import type { UnsubmittedGeneration } from '../../../queues/catalog.ts';
import type { UpstreamRateLimit } from '../../../tables/UpstreamRateLimit.ts';
import { claimForSubmit, claimOldest, findRoute, listQueueRoutes, type QueueRoute } from './claim.ts';
import type { ClaimedGeneration } from './step.ts';
import { submitClaimed } from './submit.ts';
import { getUpstreamSlots } from './upstreamSlots.ts';

/**
 * Submits generations within the slots of their upstreams. Skips those that another worker holds or that need no
 * submit. An upstream with a dispatch loop receives its oldest queued generations instead of the ones named here.
 */
export async function dispatchGenerations(generations: UnsubmittedGeneration[]): Promise<void> {
  const loopUpstreams = new Set<string>();
  for (const generation of generations) {
    const route = await findRoute(generation);
    if (route === undefined) continue;
    const { name } = route.upstream;
    if (usesDispatchLoop(route)) loopUpstreams.add(name);
    else
      getUpstreamSlots('submit', name).add({
        generationId: generation.uuid,
        run: () => claimAndSubmit(generation, name),
      });
  }
  for (const upstream of loopUpstreams) triggerDispatch(upstream);
}

/** Claims only when a slot is free: the lease covers one submit and no time in a local queue. */
async function claimAndSubmit(key: UnsubmittedGeneration, upstream: string): Promise<void> {
  const route = await findRoute(key);
  if (route?.upstream.name !== upstream || usesDispatchLoop(route)) return dispatchGenerations([key]);
  const generation = await claimForSubmit({ generation: key, route });
  if (generation !== undefined) await submitClaimed(generation);
}

/** One loop per upstream for which generations queue. */
interface DispatchLoop {
  /** Submits in progress in this process. */
  activeSubmits: number;
  /** Claims and submits what fits. Calls while it claims share the next pass. */
  runPass: (call: null) => Promise<void>;
  /** Timer of the next pass while the rate limit is exhausted. */
  cooldown: NodeJS.Timeout | undefined;
}

const dispatchLoops = perService(() => new Map<string, DispatchLoop>());

function getDispatchLoop(upstream: string): DispatchLoop {
  const known = dispatchLoops().get(upstream);
  if (known !== undefined) return known;
  const runPass = createBatcher<null, void>({
    maxItems: Number.MAX_SAFE_INTEGER,
    maxInFlight: 1,
    run: async () => {
      if (!isDraining()) await dispatchNext(upstream, loop);
      return [];
    },
  });
  const loop: DispatchLoop = { activeSubmits: 0, runPass, cooldown: undefined };
  dispatchLoops().set(upstream, loop);
  return loop;
}

/**
 * Claims and submits the oldest generations of an upstream with a dispatch loop, within its limits and the slots of
 * this process. Does not wait for the submits, which may take minutes.
 */
async function dispatchNext(upstream: string, loop: DispatchLoop): Promise<void> {
  const routes = await listQueueRoutes(upstream);
  const capacity = config.UPSTREAM_CONCURRENCY - loop.activeSubmits;
  if (routes.length === 0 || capacity < 1) return;
  const { generations, waitMs } = await claimWithinLimits(routes, capacity);
  for (const generation of generations) {
    loop.activeSubmits += 1;
    const work = submitClaimed(generation).catch((err: unknown) =>
      logger.error({ err, generationId: generation.uuid }, 'submit failed'),
    );
    trackInFlight(
      work.finally(() => {
        loop.activeSubmits -= 1;
        triggerDispatch(upstream);
      }),
    );
  }
  if (waitMs > 0) scheduleRetry(upstream, loop, waitMs);
}

/**
 * Starts a dispatch pass without waiting for it, when a generation was queued or a slot became free. After a failure,
 * the sweep enqueues the generations again.
 */
function triggerDispatch(upstream: string): void {
  const work = getDispatchLoop(upstream)
    .runPass(null)
    .catch((err: unknown) => {
      logger.warn({ err, upstream }, 'dispatch failed; sweep will retry');
    });
  trackInFlight(work);
}

function scheduleRetry(upstream: string, loop: DispatchLoop, waitMs: number): void {
  loop.cooldown ??= setTimeout(() => {
    loop.cooldown = undefined;
    triggerDispatch(upstream);
  }, waitMs);
}

/** Dispatches the next generation of an upstream with a dispatch loop after one of its runs has ended. */
export async function onSlotFreed(upstream: string): Promise<void> {
  if ((await listQueueRoutes(upstream)).length > 0) triggerDispatch(upstream);
}

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

interface ClaimBatch {
  generations: ClaimedGeneration[];
  /** Time until the rate allows the next submit; 0 if it allows one now. */
  waitMs: number;
}

/**
 * Claims the oldest generations that wait for an upstream, within its limits.
 * @param routes every route of this upstream.
 * @param limit free submit slots of this process.
 */
async function claimWithinLimits(routes: readonly QueueRoute[], limit: number): Promise<ClaimBatch> {
  const { name, perMinute } = (routes[0] as QueueRoute).route.upstream;
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
