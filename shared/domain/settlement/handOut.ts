import { takesTurns } from '../../gateways/upstreams/index.ts';
import { config } from '../../lib/config.ts';
import { logger } from '../../lib/logger.ts';
import { perService } from '../../lib/serviceScope.ts';
import { currentRoutes } from '../modelHealth.ts';
import { submit } from './submit.ts';
import { claimTurn } from './turns.ts';
import { isStopping, keepTrackOf } from './underWay.ts';

/** What this process has to do with an upstream where jobs wait for their turn. */
interface Desk {
  /** Submits under way here. */
  busy: number;
  /** Whether jobs are being claimed, and whether somebody has asked for more since that began. */
  isOpen: boolean;
  wantsMore: boolean;
  /** Set while the upstream's rate leaves no room. */
  timer: NodeJS.Timeout | undefined;
}

const desks = perService(() => new Map<string, Desk>());

/**
 * Hands the oldest waiting jobs of an upstream out, as many as its limits and this process have room for. To be called
 * whenever there may be something to hand out: a job has come, another has ended. Resolves when no more can be claimed
 * now, not when those that were are submitted: that may take minutes.
 */
export async function handOut(upstream: string): Promise<void> {
  const desk = deskOf(upstream);
  desk.wantsMore = true;
  if (desk.isOpen) return;
  desk.isOpen = true;
  try {
    while (desk.wantsMore && !isStopping()) {
      desk.wantsMore = false;
      await serve(upstream, desk);
    }
  } finally {
    desk.isOpen = false;
  }
}

function deskOf(upstream: string): Desk {
  let desk = desks().get(upstream);
  if (desk === undefined) {
    desk = { busy: 0, isOpen: false, wantsMore: false, timer: undefined };
    desks().set(upstream, desk);
  }
  return desk;
}

async function serve(upstream: string, desk: Desk): Promise<void> {
  const routes = (await currentRoutes()).filter((route) => route.upstream.name === upstream && takesTurns(route));
  const room = config.UPSTREAM_CONCURRENCY - desk.busy;
  if (routes.length === 0 || room < 1) return;
  const { jobs, waitMs } = await claimTurn(routes, room);
  for (const job of jobs) {
    desk.busy += 1;
    const work = submit(job).catch((error: unknown) =>
      logger.error({ generationId: job.uuid, err: error }, 'not submitted'),
    );
    keepTrackOf(
      work.finally(() => {
        desk.busy -= 1;
        handOutSoon(upstream);
      }),
    );
  }
  if (waitMs > 0) comeBack(upstream, desk, waitMs);
}

/** For whoever has made room and does not wait for what comes of it; what is missed the sweep finds. */
export function handOutSoon(upstream: string): void {
  handOut(upstream).catch((error: unknown) => {
    logger.warn({ upstream, error: (error as Error).message }, 'nothing handed out; the sweep rings again');
  });
}

function comeBack(upstream: string, desk: Desk, waitMs: number): void {
  desk.timer ??= setTimeout(() => {
    desk.timer = undefined;
    handOutSoon(upstream);
  }, waitMs);
}

/** When a job ends, an upstream that has a limit has room for the next. */
export async function makeRoom(upstream: string | null): Promise<void> {
  const routes = await currentRoutes();
  if (routes.some((route) => route.upstream.name === upstream && takesTurns(route))) handOutSoon(upstream as string);
}
