import pLimit from 'p-limit';
import {
  getUpstream,
  getUpstreamRoutes,
  UpstreamError,
  type UpstreamRoute,
} from '../../../gateways/upstreams/index.ts';
import { now } from '../../../lib/clock.ts';
import { config } from '../../../lib/config.ts';
import { perService } from '../../../lib/serviceScope.ts';
import { PROBE_STALE_MS } from '../../../spec/limits.ts';
import { getOldestProbeTime, recordProbe } from './modelHealth.ts';

/** Probes of one provider at a time. A large catalog must not exceed the rate limit of its provider. */
const PROBE_CONCURRENCY = 20;
/** Longest duration of a pass: its results must be recorded before those of the last one are stale. */
const PASS_MAX_MS = PROBE_STALE_MS / 2;

const state = perService(() => ({ pass: undefined as Promise<void> | undefined }));

/**
 * Probes every upstream of every model and records the results. A provider that hangs does not delay the others. Calls
 * during a pass join it: passes of a provider that hangs would otherwise pile up.
 */
export function checkModelHealth(): Promise<void> {
  const held = state();
  held.pass ??= probeAll().finally(() => (held.pass = undefined));
  return held.pass;
}

async function probeAll(): Promise<void> {
  const routes = Object.values(getUpstreamRoutes()).flat();
  const byProvider = new Map<string, UpstreamRoute[]>();
  for (const route of routes)
    byProvider.set(route.upstream.name, [...(byProvider.get(route.upstream.name) ?? []), route]);
  const probes = [...byProvider.values()].flatMap((some) => {
    const slots = pLimit(getProbeConcurrency(some.length));
    return some.map((route) => slots(() => checkRoute(route)));
  });
  const results = await Promise.allSettled(probes);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

/** Returns the number of concurrent probes with which a provider that hangs is done in time. */
export function getProbeConcurrency(routes: number): number {
  return Math.max(PROBE_CONCURRENCY, Math.ceil((routes * config.UPSTREAM_TIMEOUT_MS) / PASS_MAX_MS));
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

/** Returns true if an upstream rejects our account in response to a probe, which carries our key and no input. */
export async function isAccountRejected(route: UpstreamRoute): Promise<boolean> {
  return getUpstream(route)
    .probe()
    .then(
      () => false,
      (error: unknown) => error instanceof UpstreamError && error.isAccountError,
    );
}

/** Probes if the last scheduled probe is overdue. Schedules live in Redis, and models stay online without it. */
export async function checkModelHealthIfOverdue(): Promise<void> {
  const probedAt = await getOldestProbeTime();
  if (probedAt === null || now().getTime() - probedAt.getTime() > 1.5 * config.PROBE_INTERVAL_MS)
    await checkModelHealth();
}
