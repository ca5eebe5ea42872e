import { SpanKind } from '@opentelemetry/api';
import type Koa from 'koa';
import { parseTraceparent, withSpan } from '../../shared/lib/tracing.ts';
import type { State } from '../context.ts';
import type { Route } from './route.ts';

/**
 * Records each request in a span, which continues the trace of a `traceparent` header. Used only while tracing.
 * @param findRoutes returns the routes of a path.
 */
export const traceRequests =
  (findRoutes: (path: string) => Route[]): Koa.Middleware<State> =>
  (ctx, next) => {
    if (findRoutes(ctx.path).some(({ isProbe }) => isProbe)) return next();
    const parent = parseTraceparent(ctx.get('traceparent') || undefined);
    const attributes = { 'http.request.method': ctx.method };
    return withSpan({ name: ctx.method, kind: SpanKind.SERVER, attributes, parent }, async (span) => {
      await next();
      const route = ctx.state.route?.path ?? 'none';
      span?.updateName(`${ctx.method} ${route}`);
      span?.setAttributes({ 'http.route': route, 'http.response.status_code': ctx.status });
      if (ctx.status >= 500) span?.setAttribute('error.type', String(ctx.status));
    });
  };
