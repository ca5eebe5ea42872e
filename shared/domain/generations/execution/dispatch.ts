import pLimit from 'p-limit';
import { isThrottled } from '../../../gateways/upstreams/index.ts';
import { config } from '../../../lib/config.ts';
import { perService } from '../../../lib/serviceScope.ts';
import { getActiveRoutes } from './modelHealth.ts';
import { dispatchThrottled } from './dispatchLoop.ts';
import { claimForSubmit } from './claim.ts';
import { submitClaimed } from './submit.ts';

const submitSlots = perService(() => pLimit(config.UPSTREAM_CONCURRENCY));

/**
 * Claims and submits generations. Skips those that another worker holds or that need no submit. A throttled upstream
 * receives its oldest queued generations instead of the ones named here.
 */
export async function dispatchGenerations(generationIds: string[]): Promise<void> {
  const routes = await getActiveRoutes();
  const throttledUpstreams = new Set(routes.filter(isThrottled).map(({ upstream }) => upstream.name));
  const dispatchLoops = [...throttledUpstreams].map(dispatchThrottled);
  // Claim only when a slot is free: the lease covers one submit and no time in a local queue.
  const submits = routes.every(isThrottled)
    ? []
    : generationIds.map((uuid) => submitSlots()(() => claimAndSubmit(uuid)));
  await Promise.all([...dispatchLoops, ...submits]);
}

async function claimAndSubmit(uuid: string): Promise<void> {
  const generation = await claimForSubmit(uuid);
  if (generation !== undefined) await submitClaimed(generation);
}
