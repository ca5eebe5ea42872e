import { randomUUID } from 'node:crypto';
import type Koa from 'koa';
import { logger } from '../../shared/lib/logger.ts';
import { httpRequestDuration, httpRequests } from '../../shared/lib/metrics.ts';
import type { State } from '../context.ts';

const REQUEST_ID_PATTERN = /^[A-Za-z0-9._-]{1,64}$/;

/** Assigns an id to each request, the caller's `X-Request-Id` if it is valid, and logs the response. */
export const requestLog: Koa.Middleware<State> = async (ctx, next) => {
  const startedAt = performance.now();
  const given = ctx.get('x-request-id');
  ctx.state.requestId = REQUEST_ID_PATTERN.test(given) ? given : randomUUID();
  ctx.set('x-request-id', ctx.state.requestId);
  await next();
  const ms = performance.now() - startedAt;
  const { path: route = 'none', isProbe = false } = ctx.state.route ?? {};
  const method = methodLabel(ctx);
  httpRequests.inc({ method, route, status: ctx.status });
  httpRequestDuration.observe({ method, route }, ms / 1_000);
  // Balancers send probes every few seconds: at info they would be a third of the log. Changes of readiness are logged.
  const level = isProbe ? 'debug' : 'info';
  logger[level](
    {
      requestId: ctx.state.requestId,
      method: ctx.method,
      route,
      status: ctx.status,
      ms: Math.round(ms),
      account: ctx.state.caller?.accountId,
      generationId: ctx.state.generationId,
    },
    'request',
  );
};

/** Maps unknown methods to one label, because clients can invent them. */
function methodLabel({ method }: Koa.ParameterizedContext): string {
  return METHOD_LABELS.has(method) ? method : 'other';
}

const METHOD_LABELS = new Set(['GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE', 'OPTIONS']);
