import { getUpstreamRoutes } from '../../gateways/upstreams/index.ts';
import { now } from '../../lib/clock.ts';
import type { ModelKind } from '../../spec/catalog.ts';
import { ServiceError } from '../../spec/errors.ts';
import { UpstreamHealth } from '../../tables/UpstreamHealth.ts';
import { type HealthState, toHealthState } from './healthState.ts';
import { TrialError, tryUpstream } from './tryUpstream.ts';

/** A choice of a model in the configuration of this process. */
export interface ListedRoute extends HealthState {
  model: string;
  /** 0 for the first choice. */
  position: number;
  /** `name:model id`. */
  upstream: string;
  kind: ModelKind;
  adapter: string;
  host: string;
  /** Generations at the same time, and submits per minute, over all workers; null for no limit. */
  concurrency: number | null;
  perMinute: number | null;
}

/** Lists the choices of all models, in the order of the catalog, with their health. */
export async function listUpstreamRoutes(): Promise<ListedRoute[]> {
  const rows = await UpstreamHealth.query();
  const at = now();
  return Object.entries(getUpstreamRoutes()).flatMap(([model, routes]) =>
    routes.map(({ upstream: { name, adapter, baseUrl, concurrency, perMinute }, modelId, kind }, position) => {
      const upstream = `${name}:${modelId}`;
      const health = rows.find((row) => row.model === model && row.upstream === upstream) ?? null;
      const { host } = new URL(baseUrl);
      const limits = { concurrency, perMinute };
      return { model, position, upstream, kind, adapter, host, ...limits, ...toHealthState(health, at) };
    }),
  );
}

/** Time that a request which is not sent may take to be built. */
const BUILD_TIMEOUT_MS = 10_000;

/**
 * Returns the lines of the request that an upstream of the configuration would receive, with `***` in the place of
 * secrets. Nothing is sent.
 * @throws ServiceError not_found, validation_error
 */
export async function showUpstreamRequest(upstream: string, prompt: string): Promise<string[]> {
  const routes = Object.values(getUpstreamRoutes()).flat();
  if (!routes.some((route) => `${route.upstream.name}:${route.modelId}` === upstream))
    throw new ServiceError('not_found', 'Not found. Choose an upstream of the list.');
  if (prompt.trim() === '') throw new ServiceError('validation_error', 'Enter a prompt.');
  const lines: string[] = [];
  const trial = { name: upstream, prompt, params: {}, isDryRun: true, timeoutMs: BUILD_TIMEOUT_MS };
  try {
    await tryUpstream(trial, (line) => lines.push(line));
  } catch (error) {
    if (error instanceof TrialError) throw new ServiceError('validation_error', error.message);
    throw error;
  }
  return lines;
}
