import { requireStaff } from '../../shared/domain/staff.ts';
import { callerOf, type Context, type Handler } from '../context.ts';
import { recognise, touch } from '../middleware/authenticate.ts';
import { readForm } from '../middleware/body.ts';
import { keepDraft } from '../middleware/draftCookie.ts';
import { isByAddress, limit, type RateClass } from '../middleware/rateLimit.ts';
import { ownOrigin } from '../middleware/ownOrigin.ts';
import { isByAnotherLocalName, isFromAnotherAddress, requireOwnForm } from './forms.ts';
import { sendAddressPage } from './problem.tsx';
import { pageOfForm, signInPath } from './returnTo.ts';

/**
 * Who may see a page. What goes wrong there is told by a page, too.
 * - `visitor`: anybody; who is signed in is recognised.
 * - `member`: who is signed in. Others are sent to sign in first, and come back.
 * - `operator`: one of the staff. Others who are signed in are refused.
 * - `landing`: where another site sends a browser, with a form perhaps. A session counts for nothing there.
 */
export type PageCredentials = 'visitor' | 'member' | 'operator' | 'landing';

const PAGE_CREDENTIALS: ReadonlySet<string> = new Set(['visitor', 'member', 'operator', 'landing']);

export function isForPages(credentials: string): credentials is PageCredentials {
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
  if (ctx.method === 'GET' && credentials !== 'landing' && isByAnotherLocalName(ctx)) {
    return ctx.redirect(ownOrigin() + ctx.url);
  }
  if (credentials !== 'landing') await recognise(ctx);
  // Who is nobody in particular has no account to count for.
  await limit(ctx, ctx.state.caller === undefined && !isByAddress(rateClass) ? 'public' : rateClass);
  if (ctx.method === 'POST') {
    ctx.state.form = await readForm(ctx);
    if (credentials !== 'landing') {
      if (isFromAnotherAddress(ctx)) return sendAddressPage(ctx, ownOrigin());
      requireOwnForm(ctx, ctx.state.form);
    }
  }
  const isForMembers = credentials === 'member' || credentials === 'operator';
  if (isForMembers && ctx.state.caller === undefined) return sendToSignIn(ctx);
  if (credentials === 'operator') await requireStaff(callerOf(ctx), ctx.state.sessionToken);
  await handler(ctx);
  touch(ctx);
}

/** Has somebody sign in, and come back to this page. A form is not carried out: they come back to the page it was on. */
export function sendToSignIn(ctx: Context): void {
  if (ctx.method === 'POST') keepDraft(ctx);
  seeOther(ctx, ctx.method === 'POST' ? signInPath(pageOfForm(ctx), 'session-ended') : signInPath(ctx.url));
}

/** Sends the browser on to read something else, whatever it did here. */
export function seeOther(ctx: Context, address: string): void {
  ctx.status = 303;
  ctx.set('cache-control', 'no-store');
  ctx.redirect(address);
}

/** The form that was sent; `servePage` has read it. */
export function formOf(ctx: Context): URLSearchParams {
  if (ctx.state.form === undefined) throw new Error(`${ctx.state.route} was sent no form.`);
  return ctx.state.form;
}
