import type { IncomingMessage, ServerResponse } from 'node:http';
import helmet from 'helmet';
import Koa from 'koa';
import { config } from '../shared/lib/config.ts';
import { logger } from '../shared/lib/logger.ts';
import { isTracing } from '../shared/lib/tracing.ts';
import type { State } from './context.ts';
import { discardUnreadBody } from './pipeline/body.ts';
import { handleErrors } from './pipeline/errors.ts';
import { requestLog } from './pipeline/requestLog.ts';
import { traceRequests } from './pipeline/traceRequests.ts';
import { createRouter, findRoutes, serveUnmatched } from './serveRoutes.ts';

/**
 * Returns the security headers of all responses: data that must not be run, framed or sniffed. Pages replace the
 * policy.
 */
function listSecurityHeaders(): [name: string, value: string][] {
  const setHeaders = helmet({
    contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
    crossOriginResourcePolicy: { policy: 'same-site' },
    strictTransportSecurity: config.BASE_URL.startsWith('https:'),
    // Only relevant to pages, or obsolete.
    crossOriginOpenerPolicy: false,
    originAgentCluster: false,
    xDnsPrefetchControl: false,
    xDownloadOptions: false,
    xFrameOptions: false,
    xPermittedCrossDomainPolicies: false,
    xXssProtection: false,
  });
  // They do not depend on the request.
  const headers: [string, string][] = [];
  const setHeader = (name: string, value: string) => headers.push([name, value]);
  setHeaders({} as IncomingMessage, { setHeader, removeHeader: () => {} } as unknown as ServerResponse, () => {});
  return headers;
}

/**
 * Builds the application. The order of the middleware matters.
 * @param isDraining returns true once the process is stopping: readiness is 503.
 */
export function createApp(isDraining: () => boolean = () => false): Koa<State> {
  const securityHeaders = listSecurityHeaders();
  const app = new Koa<State>({ proxy: config.TRUSTED_PROXIES > 0, maxIpsCount: config.TRUSTED_PROXIES });
  app.use((ctx, next) => {
    ctx.state.isDraining = isDraining();
    for (const [name, value] of securityHeaders) ctx.res.setHeader(name, value);
    return next();
  });
  app.use(discardUnreadBody);
  const router = createRouter();
  if (isTracing()) app.use(traceRequests((path) => findRoutes(router, path)));
  app.use(requestLog);
  app.use(handleErrors);
  app.use(router.routes());
  app.use(serveUnmatched);
  // A client that disconnects during a response is not an error of the service.
  app.on('error', (err: Error) => logger.debug({ err }, 'client disconnected during the response'));
  return app;
}
