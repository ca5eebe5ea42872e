import { PROVIDER_NAMES, type ProviderName } from '../../shared/gateways/identity/index.ts';
import { accountOfEmail } from '../../shared/domain/accounts.ts';
import { LOCAL } from '../../shared/domain/identities.ts';
import { beginSignIn, completeSignIn } from '../../shared/domain/signIns.ts';
import { EMAIL_MAX_CHARACTERS, isEmail } from '../../shared/lib/validate.ts';
import type { Context } from '../context.ts';
import { audit } from '../middleware/audit.ts';
import { browserOf, ensureBrowser } from '../middleware/attemptCookie.ts';
import { followedLink } from '../middleware/referralCookie.ts';
import { startSession } from '../middleware/sessionCookie.ts';
import { ACCOUNT_PATH, ownPath, signInPath } from '../pages/returnTo.ts';
import { formOf, seeOther } from '../pages/serve.ts';
import { linkProblemPath, providerIn } from './identities.ts';
import { isSignInProblem, sendSignInPage } from '../pages/signIn.tsx';

/** There is nothing else to see at the root. */
export function root(ctx: Context): void {
  seeOther(ctx, ACCOUNT_PATH);
}

/** The ways to sign in; who is signed in already goes on. */
export function signInPage(ctx: Context): void {
  const { problem } = ctx.query;
  const returnTo = ownPath(ctx.query['return_to']);
  if (isSignInProblem(problem)) {
    const [provider] = providersIn(ctx.query['provider']);
    return sendSignInPage(ctx, { returnTo, problem, provider, linked: providersIn(ctx.query['linked']) });
  }
  if (ctx.state.caller !== undefined) return seeOther(ctx, returnTo);
  sendSignInPage(ctx, { returnTo, isSignedOut: ctx.query['done'] === 'signed-out' });
}

function providersIn(value: unknown): ProviderName[] {
  return PROVIDER_NAMES.filter((name) => [value].flat().includes(name));
}

/** Local sign-in, from the page: takes any address at its word, which is why the router offers it on local machines only. */
export async function localSignIn(ctx: Context): Promise<void> {
  const form = formOf(ctx);
  const email = (form.get('email') ?? '').trim();
  const returnTo = ownPath(form.get('return_to'));
  if (!isEmail(email)) {
    const problem = `That is no e-mail address. It looks like name@example.com, with at most ${EMAIL_MAX_CHARACTERS} characters.`;
    return sendSignInPage(ctx, { returnTo, problem, email }, 400);
  }
  const link = followedLink(ctx, ctx.state.caller?.accountId ?? null);
  const account = await accountOfEmail(email, LOCAL, { link });
  await startSession(ctx, account.id);
  seeOther(ctx, returnTo);
}

/** Sends the browser to a provider. */
export async function start(ctx: Context): Promise<void> {
  const provider = providerIn(ctx);
  const returnTo = ownPath(ctx.query['return_to']);
  const link = followedLink(ctx, ctx.state.caller?.accountId ?? null);
  const begun = await beginSignIn(provider, ensureBrowser(ctx, provider), { returnTo, link });
  if (begun.problem === null) return seeOther(ctx, begun.address);
  ctx.set('retry-after', '60');
  sendSignInPage(ctx, { returnTo, problem: begun.problem }, 503);
}

/** Takes the browser back from a provider: with the answer in the address or, from Apple, in a form. */
export async function callback(ctx: Context): Promise<void> {
  const provider = providerIn(ctx);
  const parameters = ctx.state.form ?? new URLSearchParams(ctx.querystring);
  const end = await completeSignIn(provider, browserOf(ctx, provider), parameters);
  if (end.problem !== null) {
    await audit(ctx, 'sign_in_failed', null, { provider, problem: end.problem });
    if (end.isLink) return seeOther(ctx, linkProblemPath(provider, end.problem));
    const { problem, linked = [] } = end;
    return seeOther(ctx, signInPath(end.returnTo, problem, linked.length === 0 ? undefined : { provider, linked }));
  }
  if (end.isLink) {
    await audit(ctx, 'identity_linked', end.accountId, { provider });
    return seeOther(ctx, end.returnTo);
  }
  await startSession(ctx, end.account.id, end.identityUuid);
  seeOther(ctx, end.returnTo);
}
