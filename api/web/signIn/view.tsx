import { config } from '../../../shared/lib/config.ts';
import { isDevSignInAllowed } from '../../../shared/lib/signInSettings.ts';
import { PROVIDER_NAMES, type ProviderName, getIdentityProviders } from '../../../shared/gateways/identity/index.ts';
import type { SignInProblem } from '../../../shared/domain/accounts/signIn.ts';
import type { Context } from '../../context.ts';
import { createCsrfToken } from '../../pipeline/csrf.ts';
import { PROVIDER_LOGOS, PROVIDER_TITLES } from '../components/providerLogos.tsx';
import { sendPage } from '../components/layout.tsx';
import { Form, Notice } from '../components/form.tsx';

/** Problems of a sign-in; those of linking are on the account page. */
type ShownSignInProblem = Exclude<SignInProblem, 'identity_in_use' | 'provider_linked'>;

/** What the page can be asked to say: why a sign-in failed, or why one is needed again. */
export type SignInPageProblem = ShownSignInProblem | 'session-ended';

const SIGN_IN_PROBLEMS: Record<SignInPageProblem, string> = {
  'session-ended': 'Your session has ended, and nothing was changed. Sign in, then send the form again.',
  denied: 'You did not allow the sign-in, so nothing was done. You can sign in again whenever you like.',
  expired: 'That sign-in took too long, was completed already, or was begun in another browser. Please start again.',
  refused: 'The sign-in did not go through. Please start again.',
  away: 'The sign-in provider does not answer at the moment. Try again in a minute, or choose another way.',
  taken:
    'Your address belongs to an account here that somebody else of the same provider signs in to. If it is yours, sign in as you did before, or write to us.',
  other_provider:
    'Your address belongs to an account that uses another sign-in method. Sign in with that one first, then link this one on your account page.',
  unverified:
    'The provider has not verified your e-mail address, so we cannot go by it. Verify the address there, then sign in again.',
};

export interface SignInPageProps {
  returnTo: string;
  /** The name of a problem, or what is wrong with the address that was sent, as a sentence. */
  problem?: string;
  /** The provider that was tried, and those that the account of the address signs in through. */
  provider?: ProviderName;
  linked?: readonly ProviderName[];
  isSignedOut?: boolean;
  /** What was typed before. */
  email?: string;
}

/** The ways to sign in here. */
export function sendSignInPage(
  ctx: Context,
  { returnTo, problem, provider, linked, isSignedOut, email }: SignInPageProps,
  status = 200,
): void {
  const offered = PROVIDER_NAMES.filter((name) => getIdentityProviders()[name] !== null);
  const sentence =
    problem === 'other_provider' && provider !== undefined && linked !== undefined && linked.length > 0
      ? describeOtherProvider(provider, linked)
      : problem === undefined
        ? undefined
        : (SIGN_IN_PROBLEMS[problem as SignInPageProblem] ?? problem);
  const body = (
    <>
      {sentence === undefined ? null : <Notice kind="bad">{sentence}</Notice>}
      {isSignedOut === true ? <Notice kind="good">You are signed out.</Notice> : null}
      <div class="card">
        <h1>Sign in</h1>
        <p class="quiet">New here? Signing in creates your account.</p>
        <div class="stack">
          {offered.map((name) => (
            <a class="button wide" href={buildStartPath(name, returnTo)} rel="nofollow">
              {PROVIDER_LOGOS[name]}
              {`Continue with ${PROVIDER_TITLES[name]}`}
            </a>
          ))}
        </div>
        {isDevSignInAllowed(config) ? (
          <LocalSignInForm token={createCsrfToken(ctx)} returnTo={returnTo} email={email} />
        ) : null}
      </div>
      {isDevSignInAllowed(config) ? (
        <p class="quiet small">
          This is a development service: no sign-in provider is configured, and any address is taken at its word.
        </p>
      ) : null}
    </>
  );
  const title = sentence !== undefined ? 'Error: Sign in' : isSignedOut === true ? 'Signed out' : 'Sign in';
  sendPage(ctx, { title, body, isNarrow: true }, status);
}

function describeOtherProvider(provider: ProviderName, linked: readonly ProviderName[]): string {
  const title = PROVIDER_TITLES[provider];
  const others = linked.map((name) => PROVIDER_TITLES[name]).join(' or ');
  return `Your address belongs to an account that you sign in to with ${others}. Sign in with ${others} first, then link ${title} under “Sign-in methods” on your account page.`;
}

/** Whether a word in the address of the page names a problem; anything else is not repeated. */
export function isSignInProblem(word: unknown): word is SignInPageProblem {
  return typeof word === 'string' && Object.hasOwn(SIGN_IN_PROBLEMS, word);
}

function buildStartPath(name: string, returnTo: string): string {
  return `/authentication/social/${name}/start?${new URLSearchParams({ return_to: returnTo }).toString()}`;
}

function LocalSignInForm({ token, returnTo, email }: { token: string; returnTo: string; email?: string }) {
  return (
    <Form action="/sign-in" token={token}>
      <input type="hidden" name="return_to" value={returnTo} />
      <div class="field">
        <label for="email">E-mail address</label>
        <input id="email" type="email" name="email" value={email} autocomplete="email" required maxLength={254} />
      </div>
      <button type="submit" class="main wide">
        Sign in
      </button>
    </Form>
  );
}
