import type { Context } from '../context.ts';
import { getAccountScript } from '../web/accountScript.ts';
import { sendVersionedText } from './versionedText.ts';

/** Serves the script of the account pages. */
export function accountScript(ctx: Context): void {
  sendVersionedText(ctx, getAccountScript(), 'text/javascript; charset=utf-8');
}
