import { SpanKind } from '@opentelemetry/api';
import { ConfigError } from '../../lib/config.ts';
import { upstreamRequestDuration } from '../../lib/metrics.ts';
import { perService } from '../../lib/serviceScope.ts';
import { withSpan } from '../../lib/tracing.ts';
import type { DownloadPolicy, DownloadSource } from '../media/download.ts';
import { describedUpstream } from './described/describedUpstream.ts';
import { falUpstream } from './fal.ts';
import type { AdapterName } from './modelPresets.ts';
import { openaiUpstream } from './openai.ts';
import { replicateUpstream } from './replicate.ts';
import { type Upstream, UpstreamError } from './upstream.ts';
import { getUpstreamRoutes, type UpstreamRoute } from './upstreamConfig.ts';

const ADAPTER_FACTORIES: Record<AdapterName, (route: UpstreamRoute) => Upstream> = {
  fal: falUpstream,
  http: describedUpstream,
  openai: openaiUpstream,
  replicate: replicateUpstream,
};

const upstreamCache = perService(() => new Map<string, Upstream>());

/** Returns the adapter of a route. */
export function getUpstream(route: UpstreamRoute): Upstream {
  const name = `${route.upstream.name}:${route.modelId}:${route.kind}`;
  let upstream = upstreamCache().get(name);
  if (upstream === undefined) {
    upstream = withMetrics(route.upstream.name, ADAPTER_FACTORIES[route.upstream.adapter](route));
    upstreamCache().set(name, upstream);
  }
  return upstream;
}

/** Returns how an output is downloaded: with our key from the upstream itself, and from no other address. */
export function getDownloadSource(route: UpstreamRoute, url: string): DownloadSource {
  const headers = getUpstream(route).getFileHeaders(url);
  return headers === undefined ? { url } : { url, headers };
}

/** Returns which addresses the outputs of a route may have. */
export function getDownloadPolicy({ upstream: { baseUrl, isLocal } }: UpstreamRoute): DownloadPolicy {
  return { upstreamHost: new URL(baseUrl).host, allowsPrivateAddresses: isLocal };
}

/** Wraps an upstream to record the duration and outcome of its requests. */
function withMetrics(name: string, upstream: Upstream): Upstream {
  const measure = <Args extends unknown[], Result>(operation: string, call: (...args: Args) => Promise<Result>) => {
    return async (...args: Args): Promise<Result> => {
      const startedAt = performance.now();
      const observe = (outcome: string) =>
        upstreamRequestDuration.observe(
          { upstream: name, operation, outcome },
          (performance.now() - startedAt) / 1_000,
        );
      try {
        const attributes = { 'upstream.name': name };
        const details = { name: `${operation} ${name}`, kind: SpanKind.CLIENT, attributes };
        const result = await withSpan(details, () => call(...args));
        observe('ok');
        return result;
      } catch (error) {
        observe(error instanceof UpstreamError ? error.fault : 'error');
        throw error;
      }
    };
  };
  return {
    kind: upstream.kind,
    isSynchronous: upstream.isSynchronous,
    submit: measure('submit', (request) => upstream.submit(request)),
    poll: measure('poll', (handle, options) => upstream.poll(handle, options)),
    cancel: measure('cancel', (handle) => upstream.cancel(handle)),
    getFileHeaders: (url) => upstream.getFileHeaders(url),
    probe: measure('probe', () => upstream.probe()),
  };
}

/**
 * Returns true if generations queue for the upstream: it has limits, or a submit lasts until the output is complete.
 */
export function usesDispatchLoop(route: UpstreamRoute): boolean {
  const { concurrency, perMinute } = route.upstream;
  return concurrency !== null || perMinute !== null || getUpstream(route).isSynchronous;
}

/** Variables of the providers that require a key. */
const KEY_VARIABLES: Partial<Record<AdapterName, string>> = { fal: 'FAL_KEY', replicate: 'REPLICATE_API_TOKEN' };

/** Validates the upstreams of the configuration. @throws ConfigError if they are invalid. */
export function validateUpstreams(): void {
  getUpstreamRoutes();
}

/** Returns whether the key of a route's upstream is configured, if it requires one. */
export function hasKey({ upstream: { adapter, key, protocol } }: UpstreamRoute): boolean {
  if (key !== null) return true;
  if (protocol === undefined) return KEY_VARIABLES[adapter] === undefined;
  return protocol.auth.type === 'none' || protocol.auth.optional === true;
}

/** Checks the keys. @throws ConfigError if an upstream that is used requires a key and none is set. */
export function requireUpstreamKeys(): void {
  for (const route of Object.values(getUpstreamRoutes()).flat()) {
    const { upstream } = route;
    if (hasKey(route)) continue;
    const variable = KEY_VARIABLES[upstream.adapter];
    const isBuiltIn = upstream.name === upstream.adapter && variable !== undefined;
    const place = isBuiltIn ? variable : `UPSTREAMS/upstreams/${upstream.name}/key`;
    throw new ConfigError(`${place} is not set: it must be the key for ${upstream.baseUrl}.`);
  }
}

export { isRecentCallback, verifyCallback } from './callbacks/index.ts';
export type { CallbackRequest } from './callbacks/callbackProtocols.ts';
export {
  computeCostCents,
  countRouteOutputs,
  buildUpstreamInput,
  type UpstreamRoute,
  getUpstreamRoutes,
  findUpstreamSettings,
  listUpstreamSettings,
  findUpstreamRoute,
  findReleaseRoutes,
  findTestRoute,
} from './upstreamConfig.ts';
export { chooseRouteOrder } from './routeOrder.ts';
export { createRedactor } from './described/credentials.ts';
export { type InlineImages, isForm, type RequestBody } from './requestBody.ts';
export { type RequestTrace, traceRequests } from './requestTrace.ts';
export { isTestUpstream } from './testUpstream.ts';
export { buildImageVariables, omitImageParams, type RoleImage } from './imageFields.ts';
export { FAILURE_MESSAGES } from './responses.ts';
export { UpstreamError } from './upstream.ts';
export type {
  CancelResult,
  SubmitImage,
  UpstreamResult,
  UpstreamHandle,
  UpstreamOutput,
  UpstreamProgress,
} from './upstream.ts';
