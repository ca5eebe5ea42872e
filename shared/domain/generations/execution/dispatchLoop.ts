import { isThrottled } from '../../../gateways/upstreams/index.ts';
import { config } from '../../../lib/config.ts';
import { logger } from '../../../lib/logger.ts';
import { perService } from '../../../lib/serviceScope.ts';
import { getActiveRoutes } from './modelHealth.ts';
import { submitClaimed } from './submit.ts';
import { claimWithinLimits } from './upstreamRateLimit.ts';
import { isDraining, trackInFlight } from '../../../lib/drain.ts';

/** What this process has to do with an upstream where jobs wait for their turn. */
interface DispatchLoop {
  /** Submits under way here. */
  activeSubmits: number;
  /** Whether jobs are being claimed, and whether somebody has asked for more since that began. */
  isFetching: boolean;
  refetch: boolean;
  /** Set while the upstream's rate leaves no room. */
  cooldown: NodeJS.Timeout | undefined;
}

const dispatchLoops = perService(() => new Map<string, DispatchLoop>());

/**
 * Hands the oldest waiting jobs of an upstream out, as many as its limits and this process have room for. To be called
 * whenever there may be something to hand out: a job has come, another has ended. Resolves when no more can be claimed
 * now, not when those that were are submitted: that may take minutes.
 */
export async function dispatchThrottled(upstream: string): Promise<void> {
  const loop = getDispatchLoop(upstream);
  loop.refetch = true;
  if (loop.isFetching) return;
  loop.isFetching = true;
  try {
    while (loop.refetch && !isDraining()) {
      loop.refetch = false;
      await dispatchNext(upstream, loop);
    }
  } finally {
    loop.isFetching = false;
  }
}

function getDispatchLoop(upstream: string): DispatchLoop {
  let loop = dispatchLoops().get(upstream);
  if (loop === undefined) {
    loop = { activeSubmits: 0, isFetching: false, refetch: false, cooldown: undefined };
    dispatchLoops().set(upstream, loop);
  }
  return loop;
}

async function dispatchNext(upstream: string, loop: DispatchLoop): Promise<void> {
  const routes = (await getActiveRoutes()).filter((route) => route.upstream.name === upstream && isThrottled(route));
  const capacity = config.UPSTREAM_CONCURRENCY - loop.activeSubmits;
  if (routes.length === 0 || capacity < 1) return;
  const { jobs, waitMs } = await claimWithinLimits(routes, capacity);
  for (const generation of jobs) {
    loop.activeSubmits += 1;
    const work = submitClaimed(generation).catch((error: unknown) =>
      logger.error({ generationId: generation.uuid, err: error }, 'not submitted'),
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

/** For whoever has made room and does not wait for what comes of it; what is missed the sweep finds. */
export function triggerDispatch(upstream: string): void {
  dispatchThrottled(upstream).catch((error: unknown) => {
    logger.warn({ upstream, error: (error as Error).message }, 'nothing handed out; the sweep rings again');
  });
}

function scheduleRetry(upstream: string, loop: DispatchLoop, waitMs: number): void {
  loop.cooldown ??= setTimeout(() => {
    loop.cooldown = undefined;
    triggerDispatch(upstream);
  }, waitMs);
}

/** When a job ends, an upstream that has a limit has room for the next. */
export async function onSlotFreed(upstream: string | null): Promise<void> {
  const routes = await getActiveRoutes();
  if (routes.some((route) => route.upstream.name === upstream && isThrottled(route)))
    triggerDispatch(upstream as string);
}
