import type Koa from 'koa';
import type { State } from '../context.ts';

/**
 * What programs that run in browsers, on pages of others, may call: nothing that goes by the cookie, so that they may
 * come from anywhere. With the methods of each.
 */
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

/** Lets browsers hand the answers of these addresses on, errors too; what they ask beforehand needs no credential. */
export const cors: Koa.Middleware<State> = async (ctx, next) => {
  const methods = CORS_METHODS[ctx.path.replace(/\/$/, '')];
  if (methods === undefined) return next();
  ctx.set('access-control-allow-origin', '*');
  ctx.set('access-control-expose-headers', EXPOSED_HEADERS);
  if (ctx.method !== 'OPTIONS') return next();
  ctx.set('access-control-allow-methods', `${methods}, OPTIONS`);
  ctx.set('access-control-allow-headers', ALLOWED_HEADERS);
  ctx.set('access-control-max-age', '86400');
  ctx.status = 204;
};
