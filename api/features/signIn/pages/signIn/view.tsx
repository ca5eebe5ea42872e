import { config } from '../../../../../shared/lib/config.ts';
import { IDENTITY_UNDO_DAYS } from '../../../../../shared/spec/limits.ts';
import { isDevSignInAllowed } from '../../../../../shared/lib/signInSettings.ts';
import {
  PROVIDER_NAMES,
  type ProviderName,
  getIdentityProviders,
} from '../../../../../shared/gateways/identity/index.ts';
import type { SignInProblem } from '../../../../../shared/domain/signIn/signIn.ts';
import type { Context } from '../../../../context.ts';
import { createCsrfToken } from '../../../../pipeline/csrf.ts';
import { PROVIDER_LOGOS, PROVIDER_TITLES } from '../../../../web/components/providerLogos.tsx';
import { sendPage } from '../../../../web/components/layout.tsx';
import { Form, Notice } from '../../../../web/components/form.tsx';

/** Problems of a sign-in. Problems of linking are shown on the settings page. */
type ShownSignInProblem = Exclude<SignInProblem, 'identity_in_use' | 'provider_linked'>;

/** Codes in the URL of the page: the reason why a sign-in failed or is required again. */
export type SignInPageProblem = ShownSignInProblem | 'session-ended';

const SIGN_IN_PROBLEMS: Record<SignInPageProblem, string> = {
  'session-ended': 'Your session has ended and nothing was changed. Sign in, then submit the form again.',
  denied: 'You canceled the sign-in. You can try again at any time.',
  expired: 'The sign-in expired, was already completed, or was started in another browser. Please start again.',
  rejected: 'The sign-in failed. Please start again.',
  unavailable:
    'The sign-in provider is not responding at the moment. Try again in a minute, or use another sign-in method.',
  taken:
    'Your address belongs to an account that is linked to another identity of the same provider. If the account is yours, sign in as you did before, or contact support.',
  other_provider:
    'Your address belongs to an account with another sign-in method. Sign in with that method first, then link this one in the settings of your account.',
  unverified: 'The provider has not verified your e-mail address. Verify it there, then sign in again.',
};

export interface SignInPageProps {
  returnTo: string;
  /** Code of a problem, or an error message for the submitted address. */
  problem?: string;
  /** Provider that was tried, and the providers that are linked to the account with that address. */
  provider?: ProviderName;
  linked?: readonly ProviderName[];
  isSignedOut?: boolean;
  /** True if the visitor has a session, and a page requires a recent sign-in. */
  isAgain?: boolean;
  /** Address that was submitted before. */
  email?: string;
}

/** Sends the sign-in page. */
export function sendSignInPage(
  ctx: Context,
  { returnTo, problem, provider, linked, isSignedOut, isAgain, email }: SignInPageProps,
  status = 200,
): void {
  const offered = PROVIDER_NAMES.filter((name) => getIdentityProviders()[name] !== null);
  const sentence =
    problem === 'other_provider' && provider !== undefined && linked !== undefined && linked.length > 0
      ? describeOtherProvider(provider, linked)
      : problem === undefined
        ? undefined
        : (SIGN_IN_PROBLEMS[problem as SignInPageProblem] ?? problem);
  const heading = isAgain === true ? 'Sign in again' : 'Sign in';
  const body = (
    <>
      {sentence === undefined ? null : <Notice kind="bad">{sentence}</Notice>}
      {isSignedOut === true ? <Notice kind="good">You are signed out.</Notice> : null}
      <div class="card">
        <h1>{heading}</h1>
        <p class="quiet">
          {isAgain === true
            ? `Sign in to the same account once more to confirm that it is you. A sign-in method that was linked in the last ${IDENTITY_UNDO_DAYS} days cannot confirm it.`
            : 'New here? Signing in creates your account.'}
        </p>
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
          Development mode: no sign-in provider is configured, and e-mail addresses are not verified.
        </p>
      ) : null}
    </>
  );
  const title = sentence !== undefined ? 'Error: Sign in' : isSignedOut === true ? 'Signed out' : heading;
  sendPage(ctx, { title, body, isNarrow: true }, status);
}

function describeOtherProvider(provider: ProviderName, linked: readonly ProviderName[]): string {
  const title = PROVIDER_TITLES[provider];
  const others = linked.map((name) => PROVIDER_TITLES[name]).join(' or ');
  return `Your address belongs to an account that uses ${others}. Sign in with ${others} first, then link ${title} under “Sign-in methods” in the settings of your account.`;
}

/** Returns whether a query parameter is a known problem code. Other values are never shown. */
export function isSignInProblem(code: unknown): code is SignInPageProblem {
  return typeof code === 'string' && Object.hasOwn(SIGN_IN_PROBLEMS, code);
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
