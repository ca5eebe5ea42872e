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
 * Hands generations to their upstreams. Those that another worker has, or that need no submitting, are left alone.
 * Where jobs wait for their turn it is not these that are handed out but the oldest.
 */
export async function dispatchGenerations(generationIds: string[]): Promise<void> {
  const routes = await getActiveRoutes();
  const throttledUpstreams = new Set(routes.filter(isThrottled).map(({ upstream }) => upstream.name));
  const dispatchLoops = [...throttledUpstreams].map(dispatchThrottled);
  // A job is claimed only when there is a slot for it: the claim's lease is as long as a submit may take, not longer.
  const submits = routes.every(isThrottled)
    ? []
    : generationIds.map((uuid) => submitSlots()(() => claimAndSubmit(uuid)));
  await Promise.all([...dispatchLoops, ...submits]);
}

async function claimAndSubmit(uuid: string): Promise<void> {
  const generation = await claimForSubmit(uuid);
  if (generation !== undefined) await submitClaimed(generation);
}
