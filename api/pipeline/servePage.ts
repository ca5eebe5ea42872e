import { requireStaff } from '../../shared/domain/accounts/staff.ts';
import { requireCaller, type Context, type Handler } from '../context.ts';
import { authenticateOptional, recordLastUsed } from './authenticate.ts';
import { readFormBody } from './body.ts';
import { saveDraft } from './cookies/draftCookie.ts';
import { isCountedByAddress, consumeRateLimit, type RateClass } from './rateLimit.ts';
import { serviceOrigin } from './serviceOrigin.ts';
import { isOtherLocalHostname, isCrossOriginForm, requireCsrfToken } from './csrf.ts';
import { sendWrongAddressPage } from '../web/components/errorPage.tsx';
import { getRefererPath, buildSignInPath } from '../web/signIn/returnTo.ts';

/**
 * Who may see a page. What goes wrong there is told by a page, too.
 * - `visitor`: anybody; who is signed in is recognised.
 * - `member`: who is signed in. Others are sent to sign in first, and come back.
 * - `operator`: one of the staff. Others who are signed in are refused.
 * - `landing`: where another site sends a browser, with a form perhaps. A session counts for nothing there.
 */
export type PageCredentials = 'visitor' | 'member' | 'operator' | 'landing';

const PAGE_CREDENTIALS: ReadonlySet<string> = new Set(['visitor', 'member', 'operator', 'landing']);

export function isPageCredentials(credentials: string): credentials is PageCredentials {
  return PAGE_CREDENTIALS.has(credentials);
}

/** Serves a page, or takes a form: none that did not come from a page of ours gets any further than here. */
export async function servePage(
  ctx: Context,
  credentials: PageCredentials,
  rateClass: RateClass,
  handler: Handler,
): Promise<void> {
  ctx.state.isPage = true;
  if (ctx.method === 'GET' && credentials !== 'landing' && isOtherLocalHostname(ctx)) {
    return ctx.redirect(serviceOrigin() + ctx.url);
  }
  if (credentials !== 'landing') await authenticateOptional(ctx);
  // Who is nobody in particular has no account to count for.
  await consumeRateLimit(ctx, ctx.state.caller === undefined && !isCountedByAddress(rateClass) ? 'public' : rateClass);
  if (ctx.method === 'POST') {
    ctx.state.form = await readFormBody(ctx);
    if (credentials !== 'landing') {
      if (isCrossOriginForm(ctx)) return sendWrongAddressPage(ctx, serviceOrigin());
      requireCsrfToken(ctx, ctx.state.form);
    }
  }
  const requiresSession = credentials === 'member' || credentials === 'operator';
  if (requiresSession && ctx.state.caller === undefined) return redirectToSignIn(ctx);
  if (credentials === 'operator') await requireStaff(requireCaller(ctx), ctx.state.sessionToken);
  await handler(ctx);
  recordLastUsed(ctx);
}

/** Has somebody sign in, and come back to this page. A form is not carried out: they come back to the page it was on. */
export function redirectToSignIn(ctx: Context): void {
  if (ctx.method === 'POST') saveDraft(ctx);
  seeOther(
    ctx,
    ctx.method === 'POST' ? buildSignInPath(getRefererPath(ctx), 'session-ended') : buildSignInPath(ctx.url),
  );
}

/** Sends the browser on to read something else, whatever it did here. */
export function seeOther(ctx: Context, address: string): void {
  ctx.status = 303;
  ctx.set('cache-control', 'no-store');
  ctx.redirect(address);
}

/** The form that was sent; `servePage` has read it. */
export function getForm(ctx: Context): URLSearchParams {
  if (ctx.state.form === undefined) throw new Error(`${ctx.state.route} was sent no form.`);
  return ctx.state.form;
}
