import koaCors from '@koa/cors';
import type Koa from 'koa';
import type { State } from '../context.ts';

/** Paths that pages of other origins may call, with their methods. None of them accepts cookies, so any origin may. */
const CORS_METHODS: Record<string, string> = {
  '/.well-known/oauth-protected-resource': 'GET',
  '/.well-known/oauth-protected-resource/mcp': 'GET',
  '/.well-known/oauth-authorization-server': 'GET',
  '/.well-known/oauth-authorization-server/mcp': 'GET',
  '/jwks.json': 'GET',
  '/api/openapi.json': 'GET',
  '/mcp': 'GET, POST, DELETE',
  '/register': 'POST',
  '/token': 'POST',
  '/revoke': 'POST',
};

const ALLOWED_HEADERS =
  'Authorization, Content-Type, X-API-Key, MCP-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name, Last-Event-ID';
const EXPOSED_HEADERS = 'WWW-Authenticate, Mcp-Session-Id, Retry-After, RateLimit, RateLimit-Policy, X-Request-Id';
const PREFLIGHT_CACHE_SECONDS = 86_400;

const corsByPath = new Map(
  Object.entries(CORS_METHODS).map(([path, methods]) => [
    path,
    koaCors({
      origin: '*',
      allowMethods: `${methods}, OPTIONS`,
      allowHeaders: ALLOWED_HEADERS,
      exposeHeaders: EXPOSED_HEADERS,
      maxAge: PREFLIGHT_CACHE_SECONDS,
    }),
  ]),
);

/** Adds CORS headers to the responses of these paths, errors included, and answers preflight requests. */
export const cors: Koa.Middleware<State> = (ctx, next) => {
  const middleware = corsByPath.get(ctx.path.replace(/\/$/, ''));
  return middleware === undefined ? next() : middleware(ctx, next);
};
