import type Koa from 'koa';
import { config } from '../../shared/lib/config.ts';
import { perService } from '../../shared/lib/serviceScope.ts';
import type { State } from '../context.ts';

/** Paths that pages of other origins may call, with their methods. None of them accepts cookies, so any origin may. */
const CORS_METHODS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    '/.well-known/oauth-protected-resource': 'GET',
    '/.well-known/oauth-protected-resource/mcp': 'GET',
    '/.well-known/oauth-protected-resource/api': 'GET',
    '/.well-known/oauth-authorization-server': 'GET',
    '/.well-known/oauth-authorization-server/mcp': 'GET',
    '/jwks.json': 'GET',
    '/api/openapi.json': 'GET',
    '/mcp': 'GET, POST, DELETE',
    '/register': 'POST',
    '/token': 'POST',
    '/revoke': 'POST',
  }),
);

/** Files, with the methods that pages use: signed addresses of uploads, and outputs, whose addresses are secret. */
const FILE_METHODS: readonly (readonly [folder: string, methods: string])[] = [
  ['/uploads/', 'GET, PUT'],
  ['/media/', 'GET, HEAD'],
];

/** The REST API, which pages of the configured origins may call. Credentials are a header, never the cookie. */
const API_PATH = '/api/';
const API_METHODS = 'GET, POST, PATCH, DELETE';

const ALLOWED_HEADERS =
  'Authorization, Content-Type, X-API-Key, MCP-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name, Last-Event-ID';
const FILE_HEADERS = 'Content-Type, Range, If-None-Match';
const API_HEADERS = 'Authorization, Content-Type, X-API-Key, Idempotency-Key';
const EXPOSED_HEADERS = 'WWW-Authenticate, Mcp-Session-Id, Retry-After, RateLimit, RateLimit-Policy, X-Request-Id';
const FILE_EXPOSED_HEADERS = 'Accept-Ranges, Content-Range, ETag, Retry-After, X-Request-Id';
const PREFLIGHT_CACHE_SECONDS = 86_400;

/** Empty unless configured: an empty `Origin` is not one of a page. */
const apiOrigins = perService(() => new Set(config.API_ALLOWED_ORIGINS.match(/[^\s,]+/g)));

/**
 * Adds CORS headers to the responses of these paths, errors included, and answers preflight requests. Not `@koa/cors`:
 * it adds `Vary: Origin` to responses that are the same for every origin, so that shared caches keep one for each.
 */
export const cors: Koa.Middleware<State> = (ctx, next) => {
  const { path } = ctx;
  const files = FILE_METHODS.find(([folder]) => path.startsWith(folder));
  const methods = files?.[1] ?? CORS_METHODS.get(path.endsWith('/') ? path.slice(0, -1) : path);
  const { origin } = ctx.headers;
  const isApiPage = methods === undefined && path.startsWith(API_PATH) && isAllowedPage(origin);
  if (methods === undefined && !isApiPage) return next();
  ctx.set('access-control-allow-origin', isApiPage ? (origin as string) : '*');
  if (isApiPage) ctx.vary('Origin');
  ctx.set('access-control-expose-headers', files === undefined ? EXPOSED_HEADERS : FILE_EXPOSED_HEADERS);
  if (ctx.method !== 'OPTIONS') return next();
  ctx.set('access-control-allow-methods', `${isApiPage ? API_METHODS : methods}, OPTIONS`);
  ctx.set(
    'access-control-allow-headers',
    isApiPage ? API_HEADERS : files === undefined ? buildAllowedHeaders(ctx) : FILE_HEADERS,
  );
  ctx.set('access-control-max-age', String(PREFLIGHT_CACHE_SECONDS));
  ctx.status = 204;
  return Promise.resolve();
};

/** Adds the headers of MCP that are named after arguments of tools. The protocol of browsers has no wildcard for a prefix. */
function buildAllowedHeaders(ctx: Koa.Context): string {
  const params = ctx.get('access-control-request-headers').match(/\bmcp-param-[\w-]+/gi) ?? [];
  return [ALLOWED_HEADERS, ...params].join(', ');
}

function isAllowedPage(origin: string | undefined): boolean {
  return origin !== undefined && (apiOrigins().has(origin) || apiOrigins().has('*'));
}
