import { getUpstreamRoutes, getUpstream } from '../../../gateways/upstreams/index.ts';
import { now } from '../../../lib/clock.ts';
import { config } from '../../../lib/config.ts';
import { getOldestProbeTime, recordProbe } from './modelHealth.ts';

/** Probes every upstream of every model and records the results. */
export async function checkModelHealth(): Promise<void> {
  await Promise.all(
    Object.values(getUpstreamRoutes())
      .flat()
      .map(async (route) => {
        const problem = await getUpstream(route)
          .probe()
          .then(
            () => null,
            (error: unknown) => (error as Error).message,
          );
        await recordProbe(route, problem);
      }),
  );
}

/** Probes if the last scheduled probe is overdue. Schedules live in Redis, and models stay online without it. */
export async function checkModelHealthIfOverdue(): Promise<void> {
  const probedAt = await getOldestProbeTime();
  if (probedAt === null || now().getTime() - probedAt.getTime() > 1.5 * config.PROBE_INTERVAL_MS)
    await checkModelHealth();
}
