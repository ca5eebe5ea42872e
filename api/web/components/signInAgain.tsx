import type { VNode } from 'preact';
import { RECENT_SIGN_IN_MINUTES } from '../../../shared/spec/limits.ts';
import { buildSignInAgainPath } from '../../features/signIn/pages/signIn/returnTo.ts';

/** Asks the caller to sign in again, and returns to the page. */
export function SignInAgain({ returnTo }: { returnTo: string }): VNode {
  return (
    <>
      <p>This requires that you have signed in within the last {RECENT_SIGN_IN_MINUTES} minutes.</p>
      <p>
        <a class="button main" href={buildSignInAgainPath(returnTo)}>
          Sign in again
        </a>
      </p>
    </>
  );
}
