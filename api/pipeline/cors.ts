import { config } from '../../shared/lib/config.ts';
import { perService } from '../../shared/lib/serviceScope.ts';
import type { Context } from '../context.ts';
import type { Route } from './route.ts';

const EXPOSED_HEADERS =
  'WWW-Authenticate, Mcp-Session-Id, Retry-After, RateLimit, RateLimit-Policy, X-Request-Id, Idempotent-Replayed';

/**
 * Headers of requests and responses that pages of other origins may use, and methods where they are not those of the
 * path.
 */
const HEADERS = {
  // Pages of the configured origins. Credentials are a header, never the cookie.
  rest: {
    methods: 'GET, POST, PATCH, DELETE',
    allowed: 'Authorization, Content-Type, X-API-Key, Idempotency-Key',
    exposed: EXPOSED_HEADERS,
  },
  // No cookies are accepted, so any origin may call.
  anyOrigin: {
    methods: undefined,
    allowed:
      'Authorization, Content-Type, X-API-Key, MCP-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name, Last-Event-ID',
    exposed: EXPOSED_HEADERS,
  },
  file: {
    methods: undefined,
    allowed: 'Content-Type, Range, If-None-Match',
    exposed: 'Accept-Ranges, Content-Range, ETag, Retry-After, X-Request-Id',
  },
} as const;
const PREFLIGHT_CACHE_SECONDS = 86_400;

/** Empty unless configured: an empty `Origin` is not one of a page. */
const apiOrigins = perService(() => new Set(config.API_ALLOWED_ORIGINS.match(/[^\s,]+/g)));

/**
 * Adds the CORS headers of a route to the response, errors included. Not `@koa/cors`: it adds `Vary: Origin` to
 * responses that are the same for every origin, so that shared caches keep one for each.
 * @returns the policy; undefined if pages of this origin may not call the route.
 */
export function allowOrigin(
  ctx: Context,
  { surface, cors }: Pick<Route, 'surface' | 'cors'>,
): keyof typeof HEADERS | undefined {
  const { origin } = ctx.headers;
  const isAllowedPage = origin !== undefined && (apiOrigins().has(origin) || apiOrigins().has('*'));
  const policy = cors ?? (surface === 'rest' && isAllowedPage ? 'rest' : undefined);
  if (policy === undefined) return undefined;
  ctx.set('access-control-allow-origin', policy === 'rest' ? (origin as string) : '*');
  if (policy === 'rest') ctx.vary('Origin');
  ctx.set('access-control-expose-headers', HEADERS[policy].exposed);
  return policy;
}

/**
 * Answers a preflight request.
 * @param methods of the path.
 * @returns false if pages of this origin may not call the route.
 */
export function answerPreflight(
  ctx: Context,
  route: Pick<Route, 'surface' | 'cors'>,
  methods: readonly string[],
): boolean {
  const policy = allowOrigin(ctx, route);
  if (policy === undefined) return false;
  const { methods: all = methods.join(', '), allowed } = HEADERS[policy];
  ctx.set('access-control-allow-methods', `${all}, OPTIONS`);
  ctx.set(
    'access-control-allow-headers',
    policy === 'anyOrigin' ? [allowed, ...listParamHeaders(ctx)].join(', ') : allowed,
  );
  ctx.set('access-control-max-age', String(PREFLIGHT_CACHE_SECONDS));
  ctx.status = 204;
  return true;
}

/**
 * Lists the headers of MCP that are named after arguments of tools. The protocol of browsers has no wildcard for a
 * prefix.
 */
function listParamHeaders(ctx: Context): string[] {
  return ctx.get('access-control-request-headers').match(/\bmcp-param-[\w-]+/gi) ?? [];
}
