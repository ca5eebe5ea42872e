import pLimit, { type LimitFunction } from 'p-limit';
import { getUpstream, getUpstreamRoutes, type UpstreamRoute } from '../../../gateways/upstreams/index.ts';
import { now } from '../../../lib/clock.ts';
import { config } from '../../../lib/config.ts';
import { getOldestProbeTime, recordProbe } from './modelHealth.ts';

/** Probes of one provider at a time. A large catalog must not exceed the rate limit of its provider. */
const PROBE_CONCURRENCY = 20;

/** Probes every upstream of every model and records the results. A provider that hangs does not delay the others. */
export async function checkModelHealth(): Promise<void> {
  const slots = new Map<string, LimitFunction>();
  const getSlots = ({ upstream: { name } }: UpstreamRoute): LimitFunction => {
    const known = slots.get(name) ?? pLimit(PROBE_CONCURRENCY);
    slots.set(name, known);
    return known;
  };
  const routes = Object.values(getUpstreamRoutes()).flat();
  await Promise.all(routes.map((route) => getSlots(route)(() => checkRoute(route))));
}

async function checkRoute(route: UpstreamRoute): Promise<void> {
  const problem = await getUpstream(route)
    .probe()
    .then(
      () => null,
      (error: unknown) => (error as Error).message,
    );
  await recordProbe(route, problem);
}

/** Probes if the last scheduled probe is overdue. Schedules live in Redis, and models stay online without it. */
export async function checkModelHealthIfOverdue(): Promise<void> {
  const probedAt = await getOldestProbeTime();
  if (probedAt === null || now().getTime() - probedAt.getTime() > 1.5 * config.PROBE_INTERVAL_MS)
    await checkModelHealth();
}
