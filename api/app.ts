import helmet from 'helmet';
import Koa from 'koa';
import { config } from '../shared/lib/config.ts';
import { logger } from '../shared/lib/logger.ts';
import type { State } from './context.ts';
import { queueBoard } from './web/staff/queueBoard.ts';
import { cors } from './pipeline/cors.ts';
import { discardUnreadBody } from './pipeline/body.ts';
import { handleErrors } from './pipeline/errors.ts';
import { requestLog } from './pipeline/requestLog.ts';
import { createRouter, notFound } from './router.ts';

/** What is answered is data: nothing in it is to be run, framed or guessed at. */
const createHelmet = () =>
  helmet({
    contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
    crossOriginResourcePolicy: { policy: 'same-site' },
    strictTransportSecurity: config.BASE_URL.startsWith('https:'),
    // Of these, what a browser still heeds concerns pages only.
    crossOriginOpenerPolicy: false,
    originAgentCluster: false,
    xDnsPrefetchControl: false,
    xDownloadOptions: false,
    xFrameOptions: false,
    xPermittedCrossDomainPolicies: false,
    xXssProtection: false,
  });

/**
 * Builds the application: each middleware in its order.
 * @param isDraining returns true once the process is stopping: readiness is 503 then, and no connection is kept.
 */
export function createApp(isDraining: () => boolean = () => false): Koa<State> {
  const secure = createHelmet();
  const app = new Koa<State>({ proxy: config.TRUSTED_PROXIES > 0, maxIpsCount: config.TRUSTED_PROXIES });
  app.use((ctx, next) => {
    ctx.state.isDraining = isDraining();
    if (ctx.state.isDraining) ctx.set('connection', 'close');
    return next();
  });
  app.use(discardUnreadBody);
  app.use(requestLog);
  app.use(
    (ctx, next) =>
      new Promise((resolve, reject) => {
        secure(ctx.req, ctx.res, (error) => (error === undefined ? resolve(next()) : reject(error)));
      }),
  );
  app.use(cors);
  app.use(handleErrors);
  app.use(queueBoard());
  app.use(createRouter().routes() as unknown as Koa.Middleware<State>);
  app.use(notFound);
  // A client that goes away in the middle of an answer is no fault of ours.
  app.on('error', (error: Error) => logger.debug({ error: error.message }, 'a connection ended early'));
  return app;
}
