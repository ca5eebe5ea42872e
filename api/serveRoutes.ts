import type Koa from 'koa';
import { ServiceError } from '../shared/spec/errors.ts';
import { perService } from '../shared/lib/serviceScope.ts';
import type { Context, State } from './context.ts';
import { describeNotFound } from './pipeline/errors.ts';
import { HttpError } from './pipeline/httpError.ts';
import { consumeRateLimit } from './pipeline/rateLimit.ts';
import { getRecentSignIn, getRequiredAccess, type HttpRoute, isStaffRoute, type Route } from './pipeline/route.ts';
import { runRoute } from './pipeline/runRoute.ts';
import { servedRoutes } from './router.ts';

/** A route whose path has parameters. */
interface PatternRoute {
  method: string;
  pattern: RegExp;
  /** Names of the parameters, in the order of the groups of `pattern`: named groups take longer to match. */
  parameters: string[];
  route: Route;
}

interface RouteTable {
  /** Routes for everything below a path. */
  prefixes: Route[];
  /** Routes without parameters: by path without its trailing slash, then by method. */
  fixed: Map<string, Map<string, Route>>;
  patterns: PatternRoute[];
}

/** A parameter in the path of a route. */
const PARAMETER = /:(\w+)/g;

const routeTable = perService(buildRouteTable);

/**
 * Serves the routes of the table, with and without the trailing slash. All other requests get a 404, with `Allow` if only
 * the method is wrong. `create` in `/api/generations/create/` is not a uuid, whatever the method.
 */
export const serveRoutes: Koa.Middleware<State> = (ctx) => {
  const { prefixes, fixed, patterns } = routeTable();
  const requestPath = ctx.path;
  const below = prefixes.find(({ path }) => requestPath.startsWith(path) || `${requestPath}/` === path);
  if (below !== undefined) return runRoute(ctx, below);
  const method = ctx.method === 'HEAD' ? 'GET' : ctx.method;
  const byMethod = fixed.get(stripTrailingSlash(requestPath));
  if (byMethod !== undefined) {
    const route = byMethod.get(method);
    return route === undefined ? notFound(ctx) : runRoute(ctx, route);
  }
  for (const { method: accepted, pattern, parameters, route } of patterns) {
    const match = accepted === method ? pattern.exec(requestPath) : null;
    if (match === null) continue;
    (ctx as unknown as { params: Record<string, string> }).params = decodeParams(parameters, match);
    return runRoute(ctx, route);
  }
  return notFound(ctx);
};

function buildRouteTable(): RouteTable {
  const table: RouteTable = { prefixes: [], fixed: new Map(), patterns: [] };
  for (const row of servedRoutes()) {
    const [method, path] = row;
    const route = toRoute(row);
    if (method === '*') {
      table.prefixes.push(route);
    } else if (path.includes(':')) {
      const parameters = [...path.matchAll(PARAMETER)].map(([, name]) => name as string);
      table.patterns.push({ method, pattern: toPathPattern(path), parameters, route });
    } else {
      const key = stripTrailingSlash(path);
      const byMethod = table.fixed.get(key) ?? new Map<string, Route>();
      if (!byMethod.has(method)) byMethod.set(method, route);
      table.fixed.set(key, byMethod);
    }
  }
  return table;
}

function toRoute(row: HttpRoute): Route {
  const [, path, authentication, rateLimit, body, handler] = row;
  const access = getRequiredAccess(row);
  const permission = isStaffRoute(row) ? row[6] : undefined;
  const recentSignIn = getRecentSignIn(row);
  return { path: path.replace(/\*$/, ''), authentication, rateLimit, body, handler, access, permission, recentSignIn };
}

function decodeParams(names: readonly string[], match: RegExpExecArray): Record<string, string> {
  const params: Record<string, string> = {};
  names.forEach((name, index) => (params[name] = decodeParam(match[index + 1] as string)));
  return params;
}

function decodeParam(text: string): string {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Responds to requests without a route: 404, with `Allow` if the path exists for another method. */
async function notFound(ctx: Context): Promise<void> {
  // Browsers get a page; programs do not ask for one.
  ctx.state.isPage = ctx.method === 'GET' && ctx.get('accept').includes('text/html');
  await consumeRateLimit(ctx, 'public');
  const allowed = listMethods(ctx.path);
  if (allowed.length === 0) throw new ServiceError('not_found', describeNotFound(ctx));
  throw new HttpError('not_found', describeNotFound(ctx), { headers: { allow: allowed.join(', ') } });
}

/** Lists the methods of a path: of the path without parameters, if it exists, otherwise of all that match. */
function listMethods(requestPath: string): string[] {
  const { fixed, patterns } = routeTable();
  const byMethod = fixed.get(stripTrailingSlash(requestPath));
  if (byMethod !== undefined) return [...byMethod.keys()];
  return [...new Set(patterns.flatMap(({ method, pattern }) => (pattern.test(requestPath) ? [method] : [])))];
}

function stripTrailingSlash(path: string): string {
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

/** Builds the pattern of a path, with a group for each parameter. */
function toPathPattern(path: string): RegExp {
  const literal = stripTrailingSlash(path).replaceAll('.', String.raw`\.`);
  return new RegExp(`^${literal.replaceAll(PARAMETER, '([^/]+)')}/?$`);
}
