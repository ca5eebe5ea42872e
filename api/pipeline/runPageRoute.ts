import { getAccount } from '../../shared/domain/accounts/accounts.ts';
import { getPerson } from '../../shared/domain/accounts/people.ts';
import { requireRight } from '../../shared/domain/accounts/caller.ts';
import { requireStaff } from '../../shared/domain/accounts/staffRights.ts';
import { ServiceError } from '../../shared/spec/errors.ts';
import { findLanguage, type Language } from '../../shared/spec/languages.ts';
import type { Account } from '../../shared/tables/Account.ts';
import { type Context, requireCaller } from '../context.ts';
import { negotiateLanguage, withLanguage } from '../language.ts';
import { DELETION_PATH } from '../features/privacy/pages/deletion/paths.ts';
import { sendWrongAddressPage } from '../web/components/errorPage.tsx';
import { authenticateOptional } from './authenticate.ts';
import { readFormBody } from './body.ts';
import { isCrossOriginForm, isOtherLocalHostname, isSafeMethod, requireCsrfToken } from './csrf.ts';
import { consumeRateLimit, isCountedByAddress, type RateClass } from './rateLimit.ts';
import { mustSignInAgain } from './recentSignIn.ts';
import { recordLastUsed } from './recordLastUsed.ts';
import { redirectToSignInAgain, redirectToSignInPage, seeOther } from './redirect.ts';
import type { Route } from './route.ts';
import { serviceOrigin } from './serviceOrigin.ts';

/**
 * Runs the request of a person through its route. Errors are pages. It is counted before its form is read: most pages
 * need no credential.
 */
export async function runPageRoute(ctx: Context, route: Route): Promise<void> {
  const hasSession = route.credential !== 'anyone';
  ctx.state.route = route;
  ctx.state.isPage = true;
  if (hasSession && ctx.method === 'GET' && isOtherLocalHostname(ctx)) return ctx.redirect(serviceOrigin() + ctx.url);
  if (hasSession) await authenticateOptional(ctx);
  await consumeRateLimit(ctx, getRateClass(ctx, route));
  if (route.body === 'form') {
    const isLate = !ctx.req.complete;
    ctx.state.form = await readFormBody(ctx);
    if (hasSession && isLate) await authenticateOptional(ctx);
  }
  const { caller } = ctx.state;
  const [account, person] =
    caller === undefined ? [null, undefined] : await Promise.all([getAccount(caller.accountId), getPerson(caller)]);
  ctx.state.person = person;
  ctx.state.language = chooseLanguage(ctx, route);
  await withLanguage(ctx.state.language, async () => {
    if (!(await authorize(ctx, route, account))) return;
    ctx.state.hasBegun = true;
    await route.handler(ctx);
  });
  recordLastUsed(ctx);
}

/** Pages of staff are in English, others in the language of the person, or without one in that of the browser. */
function chooseLanguage(ctx: Context, { permission }: Route): Language {
  if (permission !== undefined) return 'en';
  const { person } = ctx.state;
  return person === undefined ? negotiateLanguage(ctx) : findLanguage(person.language);
}

/** Returns the rate class of a request. Those without a signed-in caller are counted by address. */
function getRateClass(ctx: Context, { rateLimit }: Route): RateClass {
  if (rateLimit === 'byMessage') return 'unlimited';
  return ctx.state.caller === undefined && !isCountedByAddress(rateLimit) ? 'public' : rateLimit;
}

/**
 * Checks that a form comes from one of the service's own pages, and that the session may use the page. While the
 * account is being deleted, its members get the page about that, on which the owner can undo it, instead of all others.
 * A session whose sign-in is too long ago for the request leads to the sign-in page.
 * @returns false if the response is a redirect or an error page already.
 */
async function authorize(ctx: Context, route: Route, account: Account | null): Promise<boolean> {
  const { credential, body, needs, permission } = route;
  // Without a session there is nothing that another site could misuse; sign-in providers and mail programs send such
  // forms.
  if (body === 'form' && credential !== 'anyone') {
    if (isCrossOriginForm(ctx)) {
      sendWrongAddressPage(ctx, serviceOrigin());
      return false;
    }
    requireCsrfToken(ctx, ctx.state.form as URLSearchParams);
  }
  if (needs !== undefined && ctx.state.caller !== undefined) requireRight(ctx.state.caller, needs);
  if (credential === 'session' && !admitSession(ctx, route, account)) return false;
  if (await mustSignInAgain(ctx, route)) {
    redirectToSignInAgain(ctx);
    return false;
  }
  if (permission !== undefined) ctx.state.staffRole = await requireStaff(requireCaller(ctx), permission);
  return true;
}

/** Sends visitors to sign in, and members of an account that is being deleted to the page about that. */
function admitSession(ctx: Context, { body, duringDeletion }: Route, account: Account | null): boolean {
  if (account === null) {
    if (body !== 'form' && !isSafeMethod(ctx.method)) throw new ServiceError('invalid_api_key', 'Sign in first.');
    redirectToSignInPage(ctx);
    return false;
  }
  if (duringDeletion !== true && account.deletion_requested_at !== null) {
    seeOther(ctx, DELETION_PATH);
    return false;
  }
  return true;
}
