import { logSecurityEvent } from '../../../../../shared/domain/accounts/securityEvents.ts';
import { PROVIDER_NAMES, type ProviderName } from '../../../../../shared/gateways/identity/index.ts';
import { findOrCreatePersonByEmail } from '../../../../../shared/domain/signIn/findOrCreatePerson.ts';
import { DEV_PROVIDER } from '../../../../../shared/domain/signIn/identities.ts';
import { startSignIn, completeSignIn } from '../../../../../shared/domain/signIn/signIn.ts';
import { EMAIL_MAX_CHARACTERS, isEmail } from '../../../../../shared/lib/email.ts';
import type { Context } from '../../../../context.ts';
import { getLanguage } from '../../../../language.ts';
import { getForm } from '../../../../pipeline/body.ts';
import { readSignInState, ensureSignInState } from '../../../../pipeline/cookies/signInStateCookie.ts';
import { readReferralCookie } from '../../../../pipeline/cookies/referralCookie.ts';
import { getRequestOrigin } from '../../../../pipeline/requestOrigin.ts';
import { startWebSession } from '../../../../pipeline/cookies/sessionCookie.ts';
import { sanitizeReturnTo, buildSignInPath } from './returnTo.ts';
import { seeOther } from '../../../../pipeline/redirect.ts';
import { buildLinkProblemPath, parseProviderParam } from '../settings/signInMethodHandlers.tsx';
import { t } from './texts.ts';
import { isSignInProblem, sendSignInPage } from './view.tsx';

/** Shows the sign-in page. Visitors with a session are redirected to where they wanted to go. */
export function showSignInPage(ctx: Context): void {
  const { problem } = ctx.query;
  const returnTo = sanitizeReturnTo(ctx.query['return_to']);
  if (isSignInProblem(problem)) {
    const [provider] = parseProviders(ctx.query['provider']);
    return sendSignInPage(ctx, { returnTo, problem, provider, linked: parseProviders(ctx.query['linked']) });
  }
  // A sensitive page asks a person with a session to sign in again.
  const isAgain = ctx.state.caller !== undefined && ctx.query['again'] === 'yes';
  if (ctx.state.caller !== undefined && !isAgain) return seeOther(ctx, returnTo);
  sendSignInPage(ctx, { returnTo, isAgain, isSignedOut: ctx.query['done'] === 'signed-out' });
}

function parseProviders(value: unknown): ProviderName[] {
  return PROVIDER_NAMES.filter((name) => [value].flat().includes(name));
}

/**
 * Handles the form of the local sign-in. It does not verify the address, so the router offers it on local machines
 * only.
 */
export async function localSignIn(ctx: Context): Promise<void> {
  const form = getForm(ctx);
  const email = (form.get('email') ?? '').trim();
  const returnTo = sanitizeReturnTo(form.get('return_to'));
  if (!isEmail(email)) {
    const problem = t.invalidEmail({ max: EMAIL_MAX_CHARACTERS });
    return sendSignInPage(ctx, { returnTo, problem, email }, 400);
  }
  const link = readReferralCookie(ctx, ctx.state.caller?.accountId ?? null);
  const person = await findOrCreatePersonByEmail(email, DEV_PROVIDER, {
    language: getLanguage(),
    referralClick: link,
  });
  await startWebSession(ctx, person.id);
  seeOther(ctx, returnTo);
}

/** Redirects the browser to a sign-in provider. */
export async function startProviderSignIn(ctx: Context): Promise<void> {
  const provider = parseProviderParam(ctx);
  const returnTo = sanitizeReturnTo(ctx.query['return_to']);
  const link = readReferralCookie(ctx, ctx.state.caller?.accountId ?? null);
  const attempt = await startSignIn(provider, ensureSignInState(ctx, provider), { returnTo, referralClick: link });
  if (attempt.problem === null) return seeOther(ctx, attempt.address);
  ctx.set('retry-after', '60');
  sendSignInPage(ctx, { returnTo, problem: attempt.problem }, 503);
}

/** Handles the callback of a provider: a redirect with query parameters, or a form post from Apple. */
export async function completeProviderSignIn(ctx: Context): Promise<void> {
  const provider = parseProviderParam(ctx);
  const parameters = ctx.state.form ?? new URLSearchParams(ctx.querystring);
  const state = readSignInState(ctx, provider);
  const result = await completeSignIn(provider, state, parameters, getRequestOrigin(ctx), getLanguage());
  if (result.problem !== null) {
    const subject = { provider, problem: result.problem };
    void logSecurityEvent({ accountId: null, event: 'sign_in_failed', origin: getRequestOrigin(ctx), subject });
    if (result.isLink) return seeOther(ctx, buildLinkProblemPath(provider, result.problem));
    const { problem, linked = [] } = result;
    return seeOther(
      ctx,
      buildSignInPath(result.returnTo, problem, linked.length === 0 ? undefined : { provider, linked }),
    );
  }
  if (result.isLink) {
    return seeOther(ctx, result.returnTo);
  }
  await startWebSession(ctx, result.person.id, result.identityUuid);
  seeOther(ctx, result.returnTo);
}
