import type Koa from 'koa';
import { ServiceError } from '../shared/spec/errors.ts';
import type { State } from './context.ts';
import { IndexedRouter } from './indexedRouter.ts';
import { allowOrigin, answerPreflight } from './pipeline/cors.ts';
import { describeNotFound } from './pipeline/errors.ts';
import { HttpError } from './pipeline/httpError.ts';
import { consumeRateLimit } from './pipeline/rateLimit.ts';
import { type HttpRoute, type Route, toRoute } from './pipeline/route.ts';
import { runPageRoute } from './pipeline/runPageRoute.ts';
import { runProgramRoute } from './pipeline/runProgramRoute.ts';
import { servedRoutes } from './router.ts';

/** Routes by the layers of the router. */
const routesByLayer = new WeakMap<object, Route>();

/** Builds the router, by default that of this configuration. */
export function createRouter(rows: readonly HttpRoute[] = servedRoutes()): IndexedRouter {
  const router = new IndexedRouter({ sensitive: true });
  for (const row of rows) {
    const [method, path] = row;
    const route = toRoute(row);
    const run = route.surface === 'page' ? runPageRoute : runProgramRoute;
    const pattern = path.replace(/\/\*$/, '{/*path}').replace(/(?<=.)\/$/, '');
    const methods = method === '*' ? ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] : [method];
    routesByLayer.set(
      router.register(pattern, methods, (ctx) => run(ctx, route)),
      route,
    );
  }
  return router;
}

/** Finds the routes of a path, whatever their methods. */
export function findRoutes(router: IndexedRouter, path: string): Route[] {
  return router.match(path, '').path.flatMap((layer) => routesByLayer.get(layer) ?? []);
}

/** Returns what decides who may read the 404 for an address that does not exist. */
function getUnknownRoute(path: string): Pick<Route, 'surface' | 'cors'> {
  return { surface: path.startsWith('/api/') ? 'rest' : 'json' };
}

/**
 * Answers preflight requests, and all other requests without a route by 404, with `Allow` if only the method is wrong.
 */
export const serveUnmatched: Koa.Middleware<State> = async (ctx) => {
  const { matched } = ctx as unknown as { matched: { methods: string[] }[] };
  const methods = [...new Set(matched.flatMap((layer) => layer.methods))].filter((method) => method !== 'HEAD');
  const [route = getUnknownRoute(ctx.path)] = matched.flatMap((layer) => routesByLayer.get(layer) ?? []);
  if (ctx.method === 'OPTIONS' && answerPreflight(ctx, route, methods)) return;
  allowOrigin(ctx, route);
  // Browsers get a page; programs do not ask for one.
  ctx.state.isPage = ctx.method === 'GET' && ctx.get('accept').includes('text/html');
  await consumeRateLimit(ctx, 'public');
  if (methods.length === 0) throw new ServiceError('not_found', describeNotFound(ctx));
  throw new HttpError('not_found', describeNotFound(ctx), { headers: { allow: methods.join(', ') } });
};
