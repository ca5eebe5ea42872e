import pLimit from 'p-limit';
import { isTestUpstream, usesDispatchLoop } from '../../../gateways/upstreams/index.ts';
import { config } from '../../../lib/config.ts';
import { perService } from '../../../lib/serviceScope.ts';
import type { GenerationKey } from '../../../queues/catalog.ts';
import { getActiveRoutes } from './modelHealth.ts';
import { runDispatchLoop } from './dispatchLoop.ts';
import { claimForSubmit } from './claim.ts';
import { submitClaimed } from './submit.ts';

const submitSlots = perService(() => pLimit(config.UPSTREAM_CONCURRENCY));

/**
 * Claims and submits generations. Skips those that another worker holds or that need no submit. An upstream with a
 * dispatch loop receives its oldest queued generations instead of the ones named here.
 */
export async function dispatchGenerations(generations: GenerationKey[]): Promise<void> {
  const hasTests = generations.some((generation) => generation.is_test === true);
  const active = await getActiveRoutes();
  // The test upstream has a dispatch loop. Live generations do not wake it.
  const routes = hasTests ? active : active.filter(({ upstream }) => !isTestUpstream(upstream));
  const loopUpstreams = new Set(routes.filter(usesDispatchLoop).map(({ upstream }) => upstream.name));
  const dispatchLoops = [...loopUpstreams].map(runDispatchLoop);
  const live = generations.filter((generation) => generation.is_test !== true);
  // Claim only when a slot is free: the lease covers one submit and no time in a local queue.
  const submits = routes.every(usesDispatchLoop)
    ? []
    : live.map((generation) => submitSlots()(() => claimAndSubmit(generation)));
  await Promise.all([...dispatchLoops, ...submits]);
}

async function claimAndSubmit(key: GenerationKey): Promise<void> {
  const generation = await claimForSubmit(key);
  if (generation !== undefined) await submitClaimed(generation);
}
