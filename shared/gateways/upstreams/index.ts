import { ConfigError } from '../../lib/config.ts';
import { perService } from '../../lib/serviceScope.ts';
import type { Adapter } from './knownModels.ts';
import { falUpstream } from './fal.ts';
import { openaiUpstream } from './openai.ts';
import { replicateUpstream } from './replicate.ts';
import { routes, type Route } from './settings.ts';
import { metered } from './metered.ts';
import type { Upstream } from './upstream.ts';

const ADAPTERS: Record<Adapter, (route: Route) => Upstream> = {
  fal: falUpstream,
  openai: openaiUpstream,
  replicate: replicateUpstream,
};

const upstreams = perService(() => new Map<string, Upstream>());

/** Who answers at the end of a route. */
export function upstreamOf(route: Route): Upstream {
  const name = `${route.upstream.name}:${route.modelId}:${route.kind}`;
  let upstream = upstreams().get(name);
  if (upstream === undefined) {
    upstream = metered(route.upstream.name, ADAPTERS[route.upstream.adapter](route));
    upstreams().set(name, upstream);
  }
  return upstream;
}

/** Whether jobs wait for their turn at it: its use is limited, or a submission lasts until the output is there. */
export function takesTurns(route: Route): boolean {
  const { concurrency, perMinute } = route.upstream;
  return concurrency !== null || perMinute !== null || upstreamOf(route).isSynchronous;
}

/** The variables of the providers that take nobody without a key. */
const KEYS: Partial<Record<Adapter, string>> = { fal: 'FAL_KEY', replicate: 'REPLICATE_API_TOKEN' };

/** Reads the upstreams of the configuration. @throws ConfigError if they cannot be used. */
export function checkUpstreams(): void {
  routes();
}

/** @throws ConfigError if an upstream that is in use requires a key and none is set. */
export function requireKeys(): void {
  for (const { upstream } of Object.values(routes()).flat()) {
    const variable = KEYS[upstream.adapter];
    if (upstream.key !== null || variable === undefined) continue;
    const place = upstream.name === upstream.adapter ? variable : `UPSTREAMS/upstreams/${upstream.name}/key`;
    throw new ConfigError(`${place} is not set: it must be the key of ${upstream.baseUrl}.`);
  }
}

export { closeUpstreamConnections } from './http.ts';
export { costCentsOf, inputOf, type Route, routes, routeTo } from './settings.ts';
export { MESSAGES } from './answers.ts';
export { UpstreamError } from './upstream.ts';
export type { UpstreamEnd, UpstreamHandle, UpstreamOutput, UpstreamProgress } from './upstream.ts';
