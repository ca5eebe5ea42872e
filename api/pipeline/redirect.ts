import type { Context, Handler } from '../context.ts';
import { buildSignInAgainPath, buildSignInPath, getFormPagePath } from '../features/signIn/pages/signIn/returnTo.ts';
import { saveDraft } from './cookies/draftCookie.ts';
import { rememberOutcome } from './cookies/outcomeCookie.ts';

const SIGN_OUT_PATH = /^\/account\/sign-out\/?$/;

/**
 * Redirects to the sign-in page, and back to this page afterwards. A form is not submitted again: its values are kept
 * as a draft, and the user returns to the page that showed it. Signing out of a session that has ended is complete.
 */
export function redirectToSignInPage(ctx: Context): void {
  if (ctx.method !== 'POST') return seeOther(ctx, buildSignInPath(ctx.url));
  if (SIGN_OUT_PATH.test(ctx.path)) return seeOther(ctx, '/sign-in?done=signed-out');
  saveDraft(ctx);
  seeOther(ctx, buildSignInPath(getFormPagePath(ctx), 'session-ended'));
}

/** Redirects a person with a session to sign in again, and back to this page, or to that of the form, afterwards. */
export function redirectToSignInAgain(ctx: Context): void {
  if (ctx.method === 'POST') saveDraft(ctx);
  seeOther(ctx, buildSignInAgainPath(ctx.method === 'POST' ? getFormPagePath(ctx) : ctx.url));
}

/** Returns a handler for a GET of the address of a form, as when the browser goes back to its response. */
export function redirectTo(path: string): Handler {
  return (ctx) => seeOther(ctx, path);
}

/** Returns a handler for the former address of a page. */
export function movedTo(path: string): Handler {
  return (ctx) => {
    ctx.status = 301;
    ctx.redirect(path);
  };
}

/** Redirects the browser to read another page, which shows the outcome that the address names. */
export function seeOther(ctx: Context, address: string): void {
  rememberOutcome(ctx, address);
  ctx.status = 303;
  ctx.set('cache-control', 'no-store');
  ctx.redirect(address);
}
