import Router from '@koa/router';
import type Koa from 'koa';
import { ServiceError } from '../shared/spec/errors.ts';
import type { Context, State } from './context.ts';
import { describeNotFound } from './pipeline/errors.ts';
import { HttpError } from './pipeline/httpError.ts';
import { consumeRateLimit } from './pipeline/rateLimit.ts';
import { getRequiredAccess, type HttpRoute, isStaffRoute } from './pipeline/route.ts';
import { runRoute } from './pipeline/runRoute.ts';
import { servedRoutes } from './router.ts';

/** Serves the routes of the table. All other requests get a 404, with `Allow` if only the method is wrong. */
export function serveRoutes(): Koa.Middleware<State> {
  const prefixRoutes = servedRoutes().filter(([method]) => method === '*');
  const router = createRouter();
  const serveExact = router.routes() as unknown as Koa.Middleware<State>;
  return async (ctx, next) => {
    const route = prefixRoutes.find(([, path]) => isBelow(ctx.path, path));
    if (route !== undefined) await run(ctx, route);
    else await serveExact(ctx, next);
  };
}

function createRouter(): Router<State> {
  const router = new Router<State>({ sensitive: true });
  const routes = listExactRoutes();
  const fixedPaths = routes.map(([, path]) => path).filter((path) => !path.includes(':'));
  for (const route of routes) {
    const [method, path] = route;
    const pattern = toPathPattern(path);
    // Registered without the trailing slash, a path matches with and without it.
    // `create` in `/api/generations/create/` is not a uuid, whatever the method.
    const fixed = new Set(fixedPaths.filter((other) => other !== path && pattern.test(other)).map(stripTrailingSlash));
    router.register(stripTrailingSlash(path), [method], (ctx) =>
      fixed.has(stripTrailingSlash(ctx.path)) ? notFound(ctx) : run(ctx, route),
    );
  }
  return router;
}

function run(ctx: Context, route: HttpRoute): Promise<void> {
  const [, path, authentication, rateLimit, body, handler] = route;
  const access = getRequiredAccess(route);
  const permission = isStaffRoute(route) ? route[6] : undefined;
  return runRoute(ctx, { path: path.replace(/\*$/, ''), authentication, rateLimit, body, handler, access, permission });
}

/** Responds to requests without a route: 404, with `Allow` if the path exists for another method. */
export async function notFound(ctx: Context): Promise<void> {
  // Browsers get a page; programs do not ask for one.
  ctx.state.isPage = ctx.method === 'GET' && ctx.get('accept').includes('text/html');
  await consumeRateLimit(ctx, 'public');
  const paths = new Set(findMatchingPaths(ctx.path));
  const allowed = listExactRoutes()
    .filter(([, path]) => paths.has(path))
    .map(([method]) => method);
  if (allowed.length === 0) throw new ServiceError('not_found', describeNotFound(ctx));
  throw new HttpError('not_found', describeNotFound(ctx), { headers: { allow: [...new Set(allowed)].join(', ') } });
}

/** Lists the paths of the table that match a request: those without parameters, if there are any, otherwise all. */
function findMatchingPaths(requestPath: string): string[] {
  const paths = listExactRoutes()
    .map(([, path]) => path)
    .filter((path) => toPathPattern(path).test(requestPath));
  const fixed = paths.filter((path) => !path.includes(':'));
  return fixed.length > 0 ? fixed : paths;
}

function listExactRoutes(): HttpRoute[] {
  return servedRoutes().filter(([method]) => method !== '*');
}

/** Returns true for `/a/b` and everything below it, if the pattern is `/a/b/*`. */
function isBelow(path: string, pattern: string): boolean {
  return `${path}/`.startsWith(pattern.replace(/\*$/, ''));
}

function stripTrailingSlash(path: string): string {
  return path.replace(/(.)\/$/, '$1');
}

function toPathPattern(path: string): RegExp {
  return new RegExp(`^${path.replace(/\/$/, '').replaceAll(/:\w+/g, '[^/]+')}/?$`);
}
