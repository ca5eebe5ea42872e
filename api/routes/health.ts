import type { Context } from '../context.ts';

/** The version of the interface (spec: Versioning). */
const VERSION = '2.0.0';

export function health(ctx: Context): void {
  ctx.body = { status: 'ok', version: VERSION };
}
