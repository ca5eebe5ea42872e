import type { Context } from '../context.ts';
import type { VersionedText } from '../web/versionedText.ts';

/** Sends a file of the pages. It is immutable at the address that contains its version. */
export function sendVersionedText(ctx: Context, { text, version }: VersionedText, type: string): void {
  ctx.set('cache-control', ctx.query['v'] === version ? 'public, max-age=31536000, immutable' : 'no-cache');
  ctx.type = type;
  ctx.body = text;
}
