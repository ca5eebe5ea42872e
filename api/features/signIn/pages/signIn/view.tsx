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
import { PROVIDER_LOGOS, PROVIDER_TITLES } from '../../../../web/components/providerLogos.tsx';
import { sendPage } from '../../../../web/components/layout.tsx';
import { Form, Notice } from '../../../../web/components/form.tsx';
import { formatAlternatives } from '../../../../web/components/formatAmount.ts';
import { t as shared } from '../../../../web/texts.ts';
import { PROBLEMS, t } from './texts.ts';

/** Problems of a sign-in. Problems of linking are shown on the settings page. */
type ShownSignInProblem = Exclude<SignInProblem, 'identity_in_use' | 'provider_linked'>;

/** Codes in the URL of the page: the reason why a sign-in failed or is required again. */
export type SignInPageProblem = ShownSignInProblem | 'session-ended';

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
        : isSignInProblem(problem)
          ? PROBLEMS[problem]()
          : problem;
  const heading = isAgain === true ? shared.signInAgain() : shared.signIn();
  const body = (
    <>
      {sentence === undefined ? null : <Notice kind="bad">{sentence}</Notice>}
      {isSignedOut === true ? <Notice kind="good">{t.youAreSignedOut()}</Notice> : null}
      <div class="card">
        <h1>{heading}</h1>
        <p class="quiet">{isAgain === true ? t.signInAgain({ days: IDENTITY_UNDO_DAYS }) : t.newHere()}</p>
        <div class="stack">
          {offered.map((name) => (
            <a class="button wide" href={buildStartPath(name, returnTo)} rel="nofollow">
              {PROVIDER_LOGOS[name]}
              {t.continueWith({ provider: PROVIDER_TITLES[name] })}
            </a>
          ))}
        </div>
        {isDevSignInAllowed(config) ? <LocalSignInForm returnTo={returnTo} email={email} /> : null}
      </div>
      {isDevSignInAllowed(config) ? <p class="quiet small">{t.development()}</p> : null}
    </>
  );
  const title =
    sentence !== undefined
      ? shared.errorTitle({ heading: shared.signIn() })
      : isSignedOut === true
        ? t.signedOut()
        : heading;
  sendPage(ctx, { title, body, isNarrow: true }, status);
}

function describeOtherProvider(provider: ProviderName, linked: readonly ProviderName[]): string {
  const others = formatAlternatives(linked.map((name) => PROVIDER_TITLES[name]));
  return t.usesOther({ others, provider: PROVIDER_TITLES[provider] });
}

/** Returns whether a query parameter is a known problem code. Other values are never shown. */
export function isSignInProblem(code: unknown): code is SignInPageProblem {
  return typeof code === 'string' && Object.hasOwn(PROBLEMS, code);
}

function buildStartPath(name: string, returnTo: string): string {
  return `/authentication/social/${name}/start?${new URLSearchParams({ return_to: returnTo }).toString()}`;
}

function LocalSignInForm({ returnTo, email }: { returnTo: string; email?: string }) {
  return (
    <Form action="/sign-in">
      <input type="hidden" name="return_to" value={returnTo} />
      <div class="field">
        <label for="email">{shared.emailAddress()}</label>
        <input id="email" type="email" name="email" value={email} autocomplete="email" required maxLength={254} />
      </div>
      <button type="submit" class="main wide">
        {shared.signIn()}
      </button>
    </Form>
  );
}
