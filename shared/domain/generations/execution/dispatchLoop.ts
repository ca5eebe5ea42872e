import { usesDispatchLoop } from '../../../gateways/upstreams/index.ts';
import { config } from '../../../lib/config.ts';
import { isDraining, trackInFlight } from '../../../lib/drain.ts';
import { logger } from '../../../lib/logger.ts';
import { perService } from '../../../lib/serviceScope.ts';
import { getActiveRoutes } from './modelHealth.ts';
import { submitClaimed } from './submit.ts';
import { claimWithinLimits } from './upstreamRateLimit.ts';

/** One loop per upstream for which generations queue. Wake-ups that arrive while it claims are merged into one more pass. */
interface DispatchLoop {
  /** Submits in progress in this process. */
  activeSubmits: number;
  /** True while a pass claims generations. */
  isFetching: boolean;
  /** Set by a wake-up during a pass: one more pass follows. */
  refetch: boolean;
  /** Timer of the next pass while the rate limit is exhausted. */
  cooldown: NodeJS.Timeout | undefined;
}

const dispatchLoops = perService(() => new Map<string, DispatchLoop>());

/**
 * Claims and submits the oldest generations of an upstream with a dispatch loop, within its limits and the slots of this process.
 * Call it when a generation was queued or a slot became free. Resolves when nothing more can be claimed, without
 * waiting for the submits, which may take minutes.
 */
export async function runDispatchLoop(upstream: string): Promise<void> {
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
  const routes = (await getActiveRoutes()).filter(
    (route) => route.upstream.name === upstream && usesDispatchLoop(route),
  );
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

/** Starts a dispatch pass without waiting for it. After a failure, the sweep enqueues the generations again. */
export function triggerDispatch(upstream: string): void {
  runDispatchLoop(upstream).catch((err: unknown) => {
    logger.warn({ err, upstream }, 'dispatch failed; sweep will retry');
  });
}

function scheduleRetry(upstream: string, loop: DispatchLoop, waitMs: number): void {
  loop.cooldown ??= setTimeout(() => {
    loop.cooldown = undefined;
    triggerDispatch(upstream);
  }, waitMs);
}

/** Dispatches the next generation of an upstream with a dispatch loop after one of its generations has ended. */
export async function onSlotFreed(upstream: string): Promise<void> {
  const routes = await getActiveRoutes();
  if (routes.some((route) => route.upstream.name === upstream && usesDispatchLoop(route))) triggerDispatch(upstream);
}
