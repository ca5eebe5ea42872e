import type { Context } from '../context.ts';
import { getStylesheet } from '../web/stylesheet.ts';

/** Serves the stylesheet of the pages. It is immutable at the address that contains its version. */
export function stylesheet(ctx: Context): void {
  const { text, version } = getStylesheet();
  ctx.set('cache-control', ctx.query['v'] === version ? 'public, max-age=31536000, immutable' : 'no-cache');
  ctx.type = 'text/css; charset=utf-8';
  ctx.body = text;
}
