import type { Context } from '../context.ts';
import { buildSignInPath, getRefererPath } from '../web/signIn/returnTo.ts';
import { saveDraft } from './cookies/draftCookie.ts';

/**
 * Redirects to the sign-in page, and back to this page afterwards. A form is not submitted again: its values are kept as
 * a draft, and the user returns to the page that showed it.
 */
export function redirectToSignInPage(ctx: Context): void {
  if (ctx.method === 'POST') saveDraft(ctx);
  seeOther(
    ctx,
    ctx.method === 'POST' ? buildSignInPath(getRefererPath(ctx), 'session-ended') : buildSignInPath(ctx.url),
  );
}

/** Redirects the browser to read another page. */
export function seeOther(ctx: Context, address: string): void {
  ctx.status = 303;
  ctx.set('cache-control', 'no-store');
  ctx.redirect(address);
}
