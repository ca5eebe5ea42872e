import type { Context } from '../context.ts';
import { STYLESHEET, STYLESHEET_VERSION } from '../web/stylesheet.ts';

/** Serves the stylesheet of the pages. Caches keep it indefinitely if the address names its version. */
export function stylesheet(ctx: Context): void {
  const isVersioned = ctx.query['v'] === STYLESHEET_VERSION;
  ctx.set('cache-control', isVersioned ? 'public, max-age=31536000, immutable' : 'no-cache');
  ctx.type = 'text/css; charset=utf-8';
  ctx.body = STYLESHEET;
}
