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

/** Signed addresses, to which pages of customers upload images. */
const UPLOADS_PATH = '/uploads/';
const UPLOADS_METHODS = 'GET, PUT';

/** The REST API, which pages of the configured origins may call. Credentials are a header, never the cookie. */
const API_PATH = '/api/';
const API_METHODS = 'GET, POST, PATCH, DELETE';

const ALLOWED_HEADERS =
  'Authorization, Content-Type, X-API-Key, MCP-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name, Last-Event-ID';
const API_HEADERS = 'Authorization, Content-Type, X-API-Key, Idempotency-Key';
const EXPOSED_HEADERS = 'WWW-Authenticate, Mcp-Session-Id, Retry-After, RateLimit, RateLimit-Policy, X-Request-Id';
const PREFLIGHT_CACHE_SECONDS = 86_400;

/** Empty unless configured: an empty `Origin` is not one of a page. */
const apiOrigins = perService(() => new Set(config.API_ALLOWED_ORIGINS.match(/[^\s,]+/g)));

/**
 * Adds CORS headers to the responses of these paths, errors included, and answers preflight requests. Not `@koa/cors`:
 * it adds `Vary: Origin` to responses that are the same for every origin, so that shared caches keep one for each.
 */
export const cors: Koa.Middleware<State> = (ctx, next) => {
  const { path } = ctx;
  const isUpload = path.startsWith(UPLOADS_PATH);
  const methods = isUpload ? UPLOADS_METHODS : CORS_METHODS.get(path.endsWith('/') ? path.slice(0, -1) : path);
  const { origin } = ctx.headers;
  const isApiPage = methods === undefined && path.startsWith(API_PATH) && isAllowedPage(origin);
  if (methods === undefined && !isApiPage) return next();
  ctx.set('access-control-allow-origin', isApiPage ? (origin as string) : '*');
  if (isApiPage) ctx.vary('Origin');
  ctx.set('access-control-expose-headers', EXPOSED_HEADERS);
  if (ctx.method !== 'OPTIONS') return next();
  ctx.set('access-control-allow-methods', `${isApiPage ? API_METHODS : methods}, OPTIONS`);
  ctx.set('access-control-allow-headers', isApiPage ? API_HEADERS : ALLOWED_HEADERS);
  ctx.set('access-control-max-age', String(PREFLIGHT_CACHE_SECONDS));
  ctx.status = 204;
  return Promise.resolve();
};

function isAllowedPage(origin: string | undefined): boolean {
  return origin !== undefined && (apiOrigins().has(origin) || apiOrigins().has('*'));
}
