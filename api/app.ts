import helmet from 'helmet';
import Koa from 'koa';
import { config } from '../shared/lib/config.ts';
import { logger } from '../shared/lib/logger.ts';
import { isTracing } from '../shared/lib/tracing.ts';
import type { State } from './context.ts';

import { cors } from './pipeline/cors.ts';
import { discardUnreadBody } from './pipeline/body.ts';
import { handleErrors } from './pipeline/errors.ts';
import { requestLog } from './pipeline/requestLog.ts';
import { traceRequests } from './pipeline/traceRequests.ts';
import { notFound, serveRoutes } from './serveRoutes.ts';

/** Security headers of all responses: data that must not be run, framed or sniffed. Pages replace the policy. */
const createHelmet = () =>
  helmet({
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

/**
 * Builds the application. The order of the middleware matters.
 * @param isDraining returns true once the process is stopping: readiness is 503.
 */
export function createApp(isDraining: () => boolean = () => false): Koa<State> {
  const secure = createHelmet();
  const app = new Koa<State>({ proxy: config.TRUSTED_PROXIES > 0, maxIpsCount: config.TRUSTED_PROXIES });
  app.use((ctx, next) => {
    ctx.state.isDraining = isDraining();
    return next();
  });
  app.use(discardUnreadBody);
  if (isTracing()) app.use(traceRequests);
  app.use(requestLog);
  app.use(
    (ctx, next) =>
      new Promise((resolve, reject) => {
        secure(ctx.req, ctx.res, (error) => (error === undefined ? resolve(next()) : reject(error)));
      }),
  );
  app.use(cors);
  app.use(handleErrors);
  app.use(serveRoutes());
  app.use(notFound);
  // A client that disconnects during a response is not an error of the service.
  app.on('error', (err: Error) => logger.debug({ err }, 'client disconnected during the response'));
  return app;
}
