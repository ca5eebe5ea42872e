import pLimit from 'p-limit';
import { usesDispatchLoop } from '../../../gateways/upstreams/index.ts';
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
  const routes = await getActiveRoutes();
  const loopUpstreams = new Set(routes.filter(usesDispatchLoop).map(({ upstream }) => upstream.name));
  const dispatchLoops = [...loopUpstreams].map(runDispatchLoop);
  // Claim only when a slot is free: the lease covers one submit and no time in a local queue.
  const submits = routes.every(usesDispatchLoop)
    ? []
    : generations.map((generation) => submitSlots()(() => claimAndSubmit(generation)));
  await Promise.all([...dispatchLoops, ...submits]);
}

async function claimAndSubmit(key: GenerationKey): Promise<void> {
  const generation = await claimForSubmit(key);
  if (generation !== undefined) await submitClaimed(generation);
}
