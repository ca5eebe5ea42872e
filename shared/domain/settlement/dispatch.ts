import pLimit from 'p-limit';
import { takesTurns } from '../../gateways/upstreams/index.ts';
import { config } from '../../lib/config.ts';
import { perService } from '../../lib/serviceScope.ts';
import { currentRoutes } from '../modelHealth.ts';
import { handOut } from './handOut.ts';
import { claimSubmit } from './claim.ts';
import { submit } from './submit.ts';

const slots = perService(() => pLimit(config.UPSTREAM_CONCURRENCY));

/**
 * Hands generations to their upstreams. Those that another worker has, or that need no submitting, are left alone.
 * Where jobs wait for their turn it is not these that are handed out but the oldest.
 */
export async function dispatch(generationIds: string[]): Promise<void> {
  const routes = await currentRoutes();
  const waiting = new Set(routes.filter(takesTurns).map(({ upstream }) => upstream.name));
  const turns = [...waiting].map(handOut);
  // A job is claimed only when there is a slot for it: the claim's lease is as long as a submit may take, not longer.
  const submits = routes.every(takesTurns) ? [] : generationIds.map((uuid) => slots()(() => claimAndSubmit(uuid)));
  await Promise.all([...turns, ...submits]);
}

async function claimAndSubmit(uuid: string): Promise<void> {
  const job = await claimSubmit(uuid);
  if (job !== undefined) await submit(job);
}
