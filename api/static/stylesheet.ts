import type { Context } from '../context.ts';
import { getStylesheet } from '../web/stylesheet.ts';
import { sendVersionedText } from './versionedText.ts';

/** Serves the stylesheet of the pages. */
export function stylesheet(ctx: Context): void {
  sendVersionedText(ctx, getStylesheet(), 'text/css; charset=utf-8');
}
