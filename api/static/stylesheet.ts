import type { Context } from '../context.ts';
import { STYLESHEET, STYLESHEET_VERSION } from '../web/stylesheet.ts';

/** The pages' stylesheet, to be kept for good under the address that names what is in it. */
export function stylesheet(ctx: Context): void {
  const isNamed = ctx.query['v'] === STYLESHEET_VERSION;
  ctx.set('cache-control', isNamed ? 'public, max-age=31536000, immutable' : 'no-cache');
  ctx.type = 'text/css; charset=utf-8';
  ctx.body = STYLESHEET;
}
