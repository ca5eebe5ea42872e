import type { VNode } from 'preact';
import { RECENT_SIGN_IN_MINUTES } from '../../../shared/spec/limits.ts';
import { t } from '../texts.ts';
import { buildSignInAgainPath } from '../../features/signIn/pages/signIn/returnTo.ts';

/** Asks the caller to sign in again, and returns to the page. */
export function SignInAgain({ returnTo }: { returnTo: string }): VNode {
  return (
    <>
      <p>{t.recentSignIn({ minutes: RECENT_SIGN_IN_MINUTES })}</p>
      <p>
        <a class="button main" href={buildSignInAgainPath(returnTo)}>
          {t.signInAgain()}
        </a>
      </p>
    </>
  );
}
